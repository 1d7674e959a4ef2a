"""GLUE's official files with their quirks, and what happens to files that are not as they should be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from finetune.data.formats.delimited import TSV, read_strictly
from finetune.data.source import Source, source_of
from finetune.errors import UserError
from finetune.task_types.registry import find

MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
QQP = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Source]:
    """Writes a file of lines and gives the source that finds it."""

    def to(file: str, *lines: str, mark: bool = False) -> Source:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig" if mark else "utf-8")
        return Source(folder=tmp_path, explicit=True)

    return to


def fault(task: str, source: Source, split: str = "train") -> str:
    with pytest.raises(UserError) as caught:
        find(task).load(source, split)
    return str(caught.value)


def test_mrpc_has_a_mark_and_quotes_that_quote_nothing(write: Callable[..., Source]) -> None:
    source = write("MRPC/train.tsv", MRPC, '1\t1\t2\tHe said "no .\tShe said " yes', "0\t3\t4\tOne\tTwo", mark=True)
    rows = find("mrpc").load(source, "train").rows
    assert [(r.id, r.text, r.pair, r.gold) for r in rows] == [
        ("train-0", 'He said "no .', 'She said " yes', "equivalent"),
        ("train-1", "One", "Two", "not_equivalent"),
    ]


def test_cola_has_no_header_but_in_its_test_file(write: Callable[..., Source]) -> None:
    write("glue/CoLA/train.tsv", "gj04\t1\t\tIt is good.", "gj04\t0\t*\tGood it is is.")
    source = write("glue/CoLA/test.tsv", "index\tsentence", "0\tWell.")
    task = find("cola")
    assert [(r.text, r.gold) for r in task.load(source, "train").rows] == [
        ("It is good.", "acceptable"),
        ("Good it is is.", "unacceptable"),
    ]
    assert [(r.text, r.gold) for r in task.load(source, "test").rows] == [("Well.", None)]


def test_stsb_has_numbers(write: Callable[..., Source]) -> None:
    source = write("STS-B/dev.tsv", "index\tsentence1\tsentence2\tscore", "0\ta\tb\t3.800")
    assert find("stsb").load(source, "dev").rows[0].gold == 3.8


def test_mnli_has_two_dev_sets_and_reads_columns_by_name(write: Callable[..., Source]) -> None:
    write(
        "MNLI/dev_matched.tsv", "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label", "0\tx\ta\tb\tneutral\tneutral"
    )
    source = write("MNLI/dev_mismatched.tsv", "index\tsentence1\tsentence2\tgold_label", "0\tc\td\tcontradiction")
    task = find("mnli")
    assert task.dev_splits == ("dev", "dev-mismatched")
    assert task.load(source, "dev").rows[0].gold == "neutral"
    assert task.load(source, "dev-mismatched").rows[0].gold == "contradiction"


@pytest.mark.parametrize(
    ("task", "header", "line", "text", "gold"),
    [
        ("qnli", "index\tquestion\tsentence\tlabel", "0\tWho?\tHe.\tnot_entailment", "Who?", "not_entailment"),
        ("rte", "index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\tentailment", "A.", "entailment"),
        ("wnli", "index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\t1", "A.", "entailment"),
        ("sst2", "sentence\tlabel", "fine \t1", "fine ", "positive"),
        ("qqp", QQP, "1\t2\t3\tWhy?\tHow?\t1", "Why?", "duplicate"),
    ],
)
def test_columns_and_labels_of_the_others(
    write: Callable[..., Source], task: str, header: str, line: str, text: str, gold: str
) -> None:
    folder = {"qnli": "QNLI", "rte": "RTE", "wnli": "WNLI", "sst2": "SST-2", "qqp": "QQP"}[task]
    row = find(task).load(write(f"{folder}/train.tsv", header, line), "train").rows[0]
    assert (row.text, row.gold) == (text, gold)


def test_malformed_lines_of_qqp_are_skipped_counted_and_reported(write: Callable[..., Source]) -> None:
    source = write("QQP/train.tsv", QQP, "1\t2\t3\tWhy?\tHow?\t1", "broken", "4\t5", "6\t7\t8\tA\tB\t0")
    loaded = find("qqp").load(source, "train")
    assert len(loaded.rows) == 2
    assert "2 malformed lines, first 3" in loaded.notes[0]


def test_the_diagnostic_set_has_labels_only_in_its_labelled_file(write: Callable[..., Source]) -> None:
    source = write("glue/diagnostic/diagnostic.tsv", "index\tsentence1\tsentence2", "0\tA\tB")
    assert find("ax").load(source, "test").rows[0].gold is None
    write("glue/diagnostic/diagnostic-full.tsv", "Domain\tPremise\tHypothesis\tLabel", "x\tA\tB\tentailment")
    assert find("ax").load(source, "test").rows[0].gold == "entailment"
    assert "has no split 'train'" in fault("ax", source)


def test_malformed_lines_elsewhere_are_errors_with_file_and_line(write: Callable[..., Source]) -> None:
    source = write("MRPC/train.tsv", MRPC, "1\t1\t2\ta\tb", "1\t1\t2\ta")
    assert "train.tsv:3: expected 5 cells" in fault("mrpc", source)


def test_an_empty_line_inside_is_malformed_one_at_the_end_is_not(write: Callable[..., Source]) -> None:
    assert len(find("mrpc").load(write("MRPC/train.tsv", MRPC, "1\t1\t2\ta\tb", "", ""), "train").rows) == 1
    assert "train.tsv:2:" in fault("mrpc", write("MRPC/train.tsv", MRPC, "", "1\t1\t2\ta\tb"))


def test_wrong_labels_numbers_and_columns_are_named(write: Callable[..., Source]) -> None:
    assert "train.tsv:2: unknown label '2'" in fault("mrpc", write("MRPC/train.tsv", MRPC, "2\t1\t2\ta\tb"))
    stsb = write("STS-B/train.tsv", "index\tsentence1\tsentence2\tscore", "0\ta\tb\tnan")
    assert "train.tsv:2: 'nan'" in fault("stsb", stsb)
    rte = write("RTE/train.tsv", "index\tsentence1\tlabel", "0\ta\tentailment")
    assert "'sentence2'" in fault("rte", rte)


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_bytes(b"sentence\tlabel\nfine\t1\ncaf\xe9\t0\n")
    found = fault("sst2", Source(folder=tmp_path, explicit=True))
    assert "train.tsv:3:" in found


def test_folders_are_tried_in_three_places(write: Callable[..., Source], tmp_path: Path) -> None:
    write("glue/RTE/train.tsv", "index\tsentence1\tsentence2\tlabel", "0\ta\tb\tentailment")
    for folder in (tmp_path, tmp_path / "glue", tmp_path / "glue" / "RTE"):
        assert len(find("rte").load(Source(folder=folder, explicit=True), "train").rows) == 1
    twice = write("RTE/train.tsv", "index\tsentence1\tsentence2\tlabel", "0\ta\tb\tentailment")
    assert "both match" in fault("rte", twice)


def test_a_folder_that_was_named_must_exist_and_hold_the_data(tmp_path: Path) -> None:
    assert "no such folder" in fault("mrpc", Source(folder=tmp_path / "nowhere", explicit=True))
    assert "no train.tsv in" in fault("mrpc", Source(folder=tmp_path, explicit=True))


def test_without_data_the_error_says_what_was_looked_for_and_where(tmp_path: Path) -> None:
    text = fault("mrpc", Source(folder=tmp_path))
    assert "MRPC/train.tsv" in text
    assert "nyu-mll/glue" in text
    assert "`data_folder`" in text


def test_the_environment_names_a_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FINETUNE_DATA", str(tmp_path))
    assert source_of(None) == Source(folder=tmp_path)
    assert source_of(Path("x")) == Source(folder=Path("x"), explicit=True)
    monkeypatch.delenv("FINETUNE_DATA")
    assert source_of(None) == Source()


def test_lines_are_counted_from_one(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(b"a\tb\r\n1\t2\r\n")
    assert list(read_strictly(tmp_path / "x.tsv", TSV)) == [(2, {"a": "1", "b": "2"})]


@pytest.mark.parametrize(
    ("task", "train", "dev", "test"),
    [
        ("mrpc", 3668, 408, 1725),
        ("cola", 8551, 1043, 1063),
        ("sst2", 67349, 872, 1821),
        ("stsb", 5749, 1500, 1379),
        ("wnli", 635, 71, 146),
    ],
)
def test_the_real_files_are_read_whole(real_data: Path, task: str, train: int, dev: int, test: int) -> None:
    source = Source(folder=real_data, explicit=True)
    found = {split: find(task).load(source, split).rows for split in ("train", "dev", "test")}
    assert {split: len(rows) for split, rows in found.items()} == {"train": train, "dev": dev, "test": test}
    assert all(row.gold is not None for split in ("train", "dev") for row in found[split])
    assert all(row.gold is None for row in found["test"])
    assert len(find("ax").load(source, "test").rows) == 1104


def test_mrpc_has_the_published_share_of_equivalents(real_data: Path) -> None:
    rows = find("mrpc").load(Source(folder=real_data), "dev").rows
    assert sum(row.gold == "equivalent" for row in rows) == 279
