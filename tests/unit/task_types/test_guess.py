"""What columns mean: every shape guessed from names, types and values, overridden by hand, and turned into rows."""

from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task
from support.tables import rows_with, table_of, text

from finetune.data.characters import text_keys
from finetune.data.files import split_files
from finetune.data.records import Record
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.choice.task import ChoiceTask
from finetune.task_types.classification.own import Classification
from finetune.task_types.classification.task import MultiLabelTask, SentenceRow
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.guess import guess
from finetune.task_types.own_data import usable_rows
from finetune.task_types.span.task import SpanTask
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.types import row_of

SHAPES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"text": text, "label": lambda i: "ab"[i % 2]},
        {"shape": "classification", "text": ("text",), "label": ("label",)},
    ),
    (
        {"note": text, "kind": lambda i: ["x", "y", "z"][i % 3]},
        {"shape": "classification", "text": ("note",), "label": ("kind",)},
    ),
    (
        {"id": str, "document": text, "label": lambda i: i % 2},
        {"id": "id", "text": ("document",)},
    ),
    (
        {"발화": text, "방언": lambda i: ["경상", "전라"][i % 2], "화자": lambda i: f"s{i // 2}"},
        {"text": ("발화",), "label": ("방언",)},
    ),
    ({"a": text, "b": lambda i: text(i + 1), "y": lambda i: i % 2}, {"text": ("a", "b"), "label": ("y",)}),
    ({"title": text, "body": text, "topic": lambda i: "ab"[i % 2]}, {"text": ("title", "body"), "label": ("topic",)}),
    ({"premise": text, "hypothesis": text, "gold_label": lambda i: "en"[i % 2]}, {"text": ("premise", "hypothesis")}),
    ({"sentence1": text, "sentence2": text, "score": lambda i: i / 8}, {"shape": "regression", "label": ("score",)}),
    ({"text": text, "label": lambda i: ["a", "b"][: i % 3]}, {"shape": "multi-label"}),
    (
        {"text": text, "tags": lambda i: ["sport", "news", "sport|news", "art|news"][i % 4]},
        {"shape": "multi-label", "separator": "|"},
    ),
    (
        {"comment": text, "toxic": lambda i: i % 2, "insult": lambda i: i // 2 % 2},
        {"shape": "multi-label", "label": ("toxic", "insult")},
    ),
    (
        {"tokens": lambda i: ["in", "Bonn"], "ner_tags": lambda i: ["O", "B-LOC"]},
        {"shape": "tagging", "text": ("tokens",), "label": ("ner_tags",)},
    ),
    ({"words": "in Bonn", "tags": "O B-LOC"}, {"shape": "tagging", "text": ("words",), "label": ("tags",)}),
    (
        {"question": lambda i: f"who is {i}?", "context": text, "answer": lambda i: f"number {i}"},
        {"shape": "span", "text": ("question", "context"), "label": ("answer",)},
    ),
    (
        {"query": text, "passage": lambda i: text(i + 1), "label": lambda i: i % 2},
        {"shape": "classification", "text": ("query", "passage"), "label": ("label",)},
    ),
    (
        {"question": text, "passage": lambda i: text(i + 1), "answer": lambda i: i % 2 == 0},
        {"shape": "classification", "text": ("question", "passage"), "label": ("answer",)},
    ),
    (
        {"comment": text, "mood": lambda i: 1 + i % 2, "place": lambda i: 1 + i // 2 % 2},
        {"shape": "classification", "label": ("mood",)},
    ),
    (
        {"comment": text, "toxic": lambda i: i % 2 == 0, "insult": lambda i: i % 3 == 0},
        {"shape": "multi-label", "label": ("toxic", "insult")},
    ),
    (
        {"question": text, "choice1": lambda i: 2 + i % 3, "choice2": lambda i: 9 + i, "label": lambda i: 2 + i % 3},
        {"shape": "choice", "choices_by": "text"},
    ),
    (
        {"question": text, "choice1": "2", "choice2": "3", "choice3": "4", "label": lambda i: 1 + i % 3},
        {"shape": "choice", "choices_by": "number", "counted_from": 1},
    ),
    (
        {"question": text, "A": text, "b": lambda i: f"b {i}", "C": text, "answer": lambda i: "ABC"[i % 3]},
        {"shape": "choice", "text": ("question", "A", "b", "C"), "label": ("answer",), "choices_by": "letter"},
    ),
    (
        {"a": text, "b": text, "label": lambda i: i % 2},
        {"shape": "classification", "text": ("a", "b"), "label": ("label",)},
    ),
    (
        {"prompt": text, "choice1": lambda i: f"one {i}", "choice2": lambda i: f"two {i}", "label": lambda i: i % 2},
        {"shape": "choice", "text": ("prompt", "choice1", "choice2"), "counted_from": 0},
    ),
    (
        {"question": text, "A": "x", "options": lambda i: ["p q", "r s", "t u"], "answer": lambda i: 1 + i % 3},
        {"shape": "choice", "text": ("question", "options"), "label": ("answer",), "counted_from": 1},
    ),
]


@pytest.mark.parametrize(("columns", "expected"), SHAPES)
def test_every_shape_is_guessed(tmp_path: Path, columns: dict[str, Any], expected: dict[str, Any]) -> None:
    table = table_of(tmp_path, rows_with(**columns))
    layout = guess(table, {})
    assert {name: getattr(layout, name) for name in expected} == expected
    assert layout.reasons["shape"]
    rows, _, notes = usable_rows(layout, table)
    assert (len(rows), notes) == (40, [])


def test_columns_are_overridden_by_name(tmp_path: Path) -> None:
    table = table_of(tmp_path, rows_with(text=text, label=lambda i: i % 2, other=text, stars=lambda i: i % 5))
    layout = guess(table, {"text": "other", "label": "stars"})
    assert (layout.shape, layout.text, layout.label) == ("classification", ("other",), ("stars",))
    assert layout.reasons["text"] == "given"
    assert guess(table, {"label": "stars", "shape": "regression"}).shape == "regression"
    assert guess(table, {"text": "text,other"}).text == ("text", "other")
    assert guess(table, {"group": "stars"}).group == "stars"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "txt"}, "'txt'.*Did you mean 'text'"),
        ({"label": "lable"}, "Did you mean 'label'"),
        ({"shape": "pairs"}, "shape is 'pairs'"),
        ({"text": "text,label,other"}, "3 text columns"),
        ({"shape": "span"}, "span"),
    ],
)
def test_a_wrong_override_is_said(tmp_path: Path, given: dict[str, str], said: str) -> None:
    table = table_of(tmp_path, rows_with(text=text, label=lambda i: i % 2, other="x"))
    with pytest.raises(UserError, match=said):
        guess(table, given)


def row(shape: Any, values: dict[str, Any], **facts: Any) -> Any:
    return row_of(Layout(shape=shape, **facts), Record(row=7, line=8, values=values))


def test_cells_become_rows() -> None:
    one = row("classification", {"t": " a text ", "y": " pos "}, text=("t",), label=("y",))
    assert (one.id, one.text, one.pair, one.gold) == ("7", " a text ", None, "pos")
    assert row("classification", {"t": "a", "y": 1.0}, text=("t",), label=("y",)).gold == "1"
    assert row("regression", {"t": "a", "y": "2,5"}, text=("t",), label=("y",), decimal=",").gold == 2.5
    assert row("regression", {"t": "a", "y": "1,234.5"}, text=("t",), label=("y",)).gold == 1234.5
    several = {"text": ("t",), "label": ("x", "y")}
    assert row("multi-label", {"t": "a", "x": "0", "y": "1"}, **several).gold == ("y",)
    assert row("multi-label", {"t": "a", "x": None, "y": ""}, **several).gold is None
    tagged = {"text": ("w",), "label": ("t",)}
    assert row("tagging", {"w": "a b", "t": ["I-X", "I-X"]}, **tagged).gold == ("B-X", "I-X")  # IOB1 is read as IOB2
    span = {"text": ("q", "c"), "label": ("a",)}
    found = row("span", {"q": "who?", "c": "the cat sat", "a": {"text": ["cat"], "answer_start": [6]}}, **span)
    assert (found.answers, found.start) == (("cat",), 4)  # a wrong start is fixed
    assert row("span", {"q": "who?", "c": "the cat", "a": "cat"}, **span).start == 4
    assert row("span", {"q": "who?", "c": "the cat", "a": []}, **span).answers == ()


@pytest.mark.parametrize(
    ("label", "counted_from", "gold"), [(0, 0, 0), ("2", 1, 1), ("B", 0, 1), ("b", 0, 1), ("dogs run", 0, 1)]
)
def test_a_choice_is_named_by_number_letter_or_text(label: Any, counted_from: int, gold: int) -> None:
    values = {"c": "well", "x": "cats sit", "y": "dogs run", "gold": label}
    columns = {"text": ("c", "x", "y"), "label": ("gold",), "counted_from": counted_from}
    assert row("choice", values, **columns).gold == gold


@pytest.mark.parametrize(
    ("shape", "values", "facts", "said"),
    [
        ("classification", {"t": "  ", "y": "a"}, {"text": ("t",), "label": ("y",)}, "'t'"),
        ("regression", {"t": "a", "y": "many"}, {"text": ("t",), "label": ("y",)}, "'many'"),
        ("tagging", {"w": ["a"], "t": ["O", "O"]}, {"text": ("w",), "label": ("t",)}, "1 word and 2 tags"),
        ("tagging", {"w": ["a"], "t": ["LOC"]}, {"text": ("w",), "label": ("t",)}, "the tag 'LOC'"),
        ("choice", {"c": "a", "x": "b", "y": "c", "g": 5}, {"text": ("c", "x", "y"), "label": ("g",)}, "one of its 2"),
        ("choice", {"c": "a", "x": "b", "y": ""}, {"text": ("c", "x", "y")}, "fewer than two choices"),
        ("multi-label", {"t": "a", "x": 3}, {"text": ("t",), "label": ("x", "y")}, "0 or 1"),
    ],
)
def test_what_makes_no_row_says_why(shape: Any, values: dict[str, Any], facts: dict[str, Any], said: str) -> None:
    with pytest.raises(NoRow, match=said):
        row(shape, values, **facts)


def test_unlabelled_and_unusable_rows_are_left_out_with_their_numbers(tmp_path: Path) -> None:
    rows = rows_with(text=text, label=lambda i: "ab"[i % 2])
    rows[3]["label"] = None
    rows[5]["text"] = " "
    rows[8]["label"] = ""
    table = table_of(tmp_path, rows)
    usable, _, notes = usable_rows(guess(table, {}), table)
    assert len(usable) == 37
    assert len(notes) == 2
    assert "rows 4, 9" in " ".join(notes)
    assert "row 6" in " ".join(notes)


def test_what_says_the_same_is_one_thing_to_the_split_and_to_the_checks() -> None:
    pairs = [("A cafe\u0301 \u200b", "a café"), ("one  two", "One two")]
    for one, other in pairs:
        rows = [SentenceRow(id="", text=given) for given in (one, other)]
        assert Classification().unit(rows[0]) == Classification().unit(rows[1])
        assert len(set(text_keys([one, other]).tolist())) == 1


def test_files_of_a_folder_by_their_names(tmp_path: Path) -> None:
    for name in ("sts-train.tsv", "sts-dev.tsv", "sts-test.tsv", ".hidden-train.tsv", "notes.md"):
        (tmp_path / name).write_text("a\tb\n")
    files = split_files(tmp_path)
    assert {split: file.name for split, file in files.items()} == {
        "train": "sts-train.tsv", "dev": "sts-dev.tsv", "test": "sts-test.tsv",
    }  # fmt: skip
    (tmp_path / "train2.csv").write_text("a,b\n")
    with pytest.raises(UserError, match="train"):
        split_files(tmp_path)
    (tmp_path / "other").mkdir()
    for name in ("latest_train.csv", "dev.csv", "approval.csv"):
        (tmp_path / "other" / name).write_text("a,b\n")
    files = split_files(tmp_path / "other")
    assert {split: file.name for split, file in files.items()} == {"train": "latest_train.csv", "dev": "dev.csv"}
    (tmp_path / "other" / "dev.csv").rename(tmp_path / "other" / "ReviewsTestSet.csv")
    assert set(split_files(tmp_path / "other")) == {"train", "test"}
    with pytest.raises(UserError, match="no such file"):
        split_files(tmp_path / "sts-train.tsv", dev="none.csv")


def test_the_task_is_of_the_datas_shape(tmp_path: Path) -> None:
    def task(**columns: Any) -> Any:
        return own_task(str(table_of(tmp_path, rows_with(**columns)).path), {})

    assert isinstance(task(words="in Bonn", tags="O B-LOC"), TaggingTask)
    span = {"question": "who?", "context": text}
    assert task(**span, answers=lambda i: ["number"] if i else []).unanswerable
    unknown = task(**span, answers=lambda i: ["number"] if i else None)
    assert not unknown.unanswerable  # null says that the answer is not known
    assert "1 row" in unknown.load(Source(), "train").notes[0]
    assert isinstance(task(**span, answers=lambda i: ["number"]), SpanTask)
    assert isinstance(task(context=text, choice1="a b", choice2="c d", label=lambda i: i % 2), ChoiceTask)
    assert isinstance(task(text=text, label=lambda i: ["a"][: i % 2]), MultiLabelTask)
    single = task(text=text, label=lambda i: "ab"[i % 2])
    assert single.metric_names[:2] == ("macro f1", "accuracy")
    assert single.windows
    loaded = {split: single.load(Source(), split) for split in ("train", "dev")}
    assert [len(rows.rows) for rows in loaded.values()] == [36, 4]
    assert "4 rows" in loaded["dev"].notes[0]
    wrong = str(table_of(tmp_path, rows_with(text=text, label=lambda i: "ab"[i % 2])).path)
    with pytest.raises(UserError, match=r"first.*'a'"):
        own_task(wrong, {"shape": "regression"})
    with pytest.raises(UserError, match=r"all 40.*'a'"):
        task(text=text, label="a")
    with pytest.raises(UserError, match="label"):
        task(text=text, other=lambda i: text(i + 1))
