"""A dev split that is drawn from the rows of one file."""

from pathlib import Path

from support.own_data import own_task
from support.tables import rows_with, table_of, text

from finetune.data.source import Source
from finetune.task_types.classification.own import Regression
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.dev_split import dev_rows

NUMBERS = list(map(float, range(20)))
SPLIT = [12, 13, 19, 20, 26, 30, 43, 63, 64, 95, 96]
GROUPED = [19, 23, 35, 39, 43, 47, 51, 55, 59, 67, 71, 79]


def test_dev_is_stratified_the_same_in_any_order_and_keeps_equal_texts_together() -> None:
    texts = [f"text {i // 2}" for i in range(400)]  # each comes twice
    strata = ["rare" if i % 20 < 2 else "often" for i in range(400)]
    chosen = dev_rows(texts, strata)
    assert len(chosen) == 40
    assert sum(strata[i] == "rare" for i in chosen) == 4
    assert all((i ^ 1) in chosen for i in chosen)
    order = list(range(400))[::-1]
    again = dev_rows([texts[i] for i in order], [strata[i] for i in order])
    assert {order[i] for i in again} == chosen


def test_groups_stay_on_one_side() -> None:
    groups = [f"user {i % 30}" for i in range(300)]
    chosen = dev_rows([f"text {i}" for i in range(300)], ["x"] * 300, groups)
    assert 10 <= len(chosen) <= 50
    assert {groups[i] for i in chosen}.isdisjoint(groups[i] for i in range(300) if i not in chosen)
    shared = ["the same text"] * 300  # ... also where equal texts tie all groups together
    assert dev_rows(shared, ["x"] * 300, groups) == set()


def test_a_class_with_one_row_stays_in_training() -> None:
    assert dev_rows(["a", "b", "c"], ["x", "x", "once"]) in ({0}, {1})
    few, many = ([SentenceRow(id="", text="", gold=gold) for gold in some] for some in ((5.0, 1.0, 9.0, 4.0), NUMBERS))
    assert Regression().strata(few) == [1, 0, 1, 0]
    assert Regression().strata(many) == [i // 2 for i in range(20)]


def test_dev_stays_small_whatever_the_labels_and_groups_are() -> None:
    many = [f"text {i}" for i in range(200)]
    chosen = dev_rows(many, [f"class {i % 100}" for i in range(200)])  # 100 classes of two rows
    assert 20 <= len(chosen) <= 40
    groups = [f"user {i}" if i < 40 else "the one who wrote nearly all" for i in range(200)]
    for seed in range(5):  # whatever the order by hash is
        named = [f"{seed} {name}" for name in groups]
        chosen = dev_rows(many, ["x"] * 200, named)
        assert 10 <= len(chosen) <= 40
        assert not any(i in chosen for i in range(40, 200))
    labels = ["a" if i % 3 else "b" for i in range(200)]
    order = list(range(200))[::-1]
    again = dev_rows([many[i] for i in order], [labels[i] for i in order], [groups[i] for i in order])
    assert {order[i] for i in again} == dev_rows(many, labels, groups)
    assert len(dev_rows(["a", "b", "c"], ["x", "y", "y"], ["one", "two", "two"])) == 1


def test_dev_is_not_empty_where_all_rows_are_one_document(tmp_path: Path) -> None:
    tags = "-DOCSTART- O\n\n" + "".join(f"word{i} B-X\nand O\n\n" for i in range(40))
    (tmp_path / "tags.conll").write_text(tags)
    assert len(own_task(str(tmp_path / "tags.conll"), {}).load(Source(), "dev").rows) == 4
    rows = rows_with(question=lambda i: f"who is {i}?", context="only one context", answer="one")
    assert len(own_task(str(table_of(tmp_path, rows).path), {}).load(Source(), "dev").rows) == 4
    rows = rows_with(text=text, labels=lambda i: [f"label {i}", f"label {i + 1}"])  # no label set comes twice
    assert len(own_task(str(table_of(tmp_path, rows).path), {}).load(Source(), "dev").rows) == 4


def test_a_split_does_not_change_between_versions() -> None:
    """These sets were drawn when rows were grouped in lists of texts; runs on users' files depend on them."""
    texts, strata = [f"text {i % 83}" for i in range(100)], ["ab"[i % 3 == 0] for i in range(100)]
    groups = [(1, "1", "x", i)[i % 4] for i in range(100)]
    assert sorted(dev_rows(texts, strata)) == SPLIT
    assert sorted(dev_rows(texts, strata, groups, share=0.4)) == GROUPED
    assert dev_rows([], []) == set()


def test_a_file_is_made_into_rows_once_for_both_splits(tmp_path: Path) -> None:
    read = own_task(str(table_of(tmp_path, rows_with(text=text, label=lambda i: "ab"[i % 2])).path), {}).read
    train, dev = read(Source(), "train").rows, read(Source(), "dev").rows
    path = next(iter(read.files.values()))
    path.write_text(path.read_text().replace("quite", "rather"))  # a command's rows stay those that it began with
    assert {id(row) for row in read(Source(), "train").rows} == {id(row) for row in train}
    assert len(train) + len(dev) == 40
