"""Numbers that are names, headers that are values, groups of columns, votes next to a label, halves that are empty."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from openpyxl import Workbook
from support.cli import Finetune

from finetune.data.in_memory import splits_in, stored
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.own_data import own_task
from finetune.task_types.task import Task

COUNT = 60
TEXTS = [f"it came back on day {number} of the month" for number in range(COUNT)]


def table(path: Path, columns: dict[str, Sequence[Any]]) -> str:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    return str(path)


def again(values: Sequence[Any]) -> list[Any]:
    return [values[number % len(values)] for number in range(COUNT)]


def rows_of(task: Task) -> list[Any]:
    rows = [row for split in ("train", "dev") for row in task.load(Source(), split).rows]
    return sorted(rows, key=lambda row: int(row.id))


def layout(data: str, **settings: str) -> Any:
    return own_task(data, settings).read.layout  # type: ignore[attr-defined]


@pytest.mark.parametrize("codes", [["008.45", "250.00", "401.9"], ["1.10", "1.1", "2.3"], ["007", "010", "100"]])
def test_numbers_with_a_zero_before_them_or_in_two_spellings_are_names(codes: list[str], tmp_path: Path) -> None:
    rows = rows_of(own_task(table(tmp_path / "data.csv", {"note": TEXTS, "code": again(codes)}), {}))
    assert [row.gold for row in rows] == again(codes)


def test_few_numbers_that_are_not_whole_are_asked_about(tmp_path: Path) -> None:
    data = table(tmp_path / "data.csv", {"note": TEXTS, "release": again(["1.0", "1.1", "1.2"])})
    with pytest.raises(Ambiguous) as question:
        own_task(data, {})
    assert [setting for setting, _ in question.value.choices] == ["shape=classification", "shape=regression"]
    assert layout(table(tmp_path / "s.csv", {"note": TEXTS, "score": again([0.5, 1, 4.5])})).shape == "regression"
    many = [f"{number / 7:.2f}" if number % 2 else f"{number / 10:.1f}0" for number in range(COUNT)]
    assert layout(table(tmp_path / "m.csv", {"note": TEXTS, "amount": many})).shape == "regression"


@pytest.mark.parametrize("dtype", ["category", "object", "string"])
def test_texts_and_categories_of_a_frame_are_names(dtype: str, tmp_path: Path) -> None:
    codes = again(["1.5", "2.5", "3.5"])
    frame = pd.DataFrame({"text": TEXTS, "label": pd.Series(codes, dtype=dtype)})
    assert [row.gold for row in rows_of(own_task(str(stored(splits_in(frame), tmp_path)), {}))] == codes


def test_a_category_of_numbers_has_classes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": TEXTS, "label": pd.Series(again([1.5, 2.5]), dtype="category")})
    assert layout(str(stored(splits_in(frame), tmp_path))).labels == ("1.5", "2.5")


def test_texts_that_begin_with_a_time_are_texts(tmp_path: Path) -> None:
    names = ["Ann Lee", "Bo Kim", "Eva Novak"]
    rows = [{"said": f"6:30 {name} called.", "spans": [[5, 5 + len(name), "PER"]]} for name in again(names)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert rows_of(own_task(str(tmp_path / "data.jsonl"), {}))[0].gold[3:5] == ("B-PER", "I-PER")
    texts = [f"{name} at 6:30" for name in again(names)]
    found = layout(table(tmp_path / "data.csv", {"text": texts, "label": again(["a", "b"])}))
    assert (found.text, found.label) == (("text",), ("label",))


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ({"comments": TEXTS, "bias": again(["none", "gender"]), "hate": again(["none", "hate"])}, COUNT),
        ({"sentences": TEXTS, "spam": again(["ham", "spam"])}, COUNT),
        ({TEXTS[0]: TEXTS[1:], "good": again(["bad", "good"])[1:]}, COUNT),
        ({"Great": TEXTS[1:], "good": again(["bad", "good"])[1:]}, COUNT),
    ],
)
def test_a_header_may_have_a_value_of_its_column(columns: dict[str, Any], rows: int, tmp_path: Path) -> None:
    task = own_task(table(tmp_path / "data.tsv", columns), {})
    assert len(rows_of(task)) == rows


def test_lists_in_json_may_have_such_a_header(tmp_path: Path) -> None:
    rows = [["comment", "spam"], *zip(TEXTS, again(["ham", "spam"]), strict=True)]
    (tmp_path / "data.json").write_text(json.dumps(rows))
    assert layout(str(tmp_path / "data.json")).text == ("comment",)


def put_book(path: Path, rows: list[list[Any]]) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    book.save(path)


def put_csv(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.mark.parametrize(("name", "put"), [("data.xlsx", put_book), ("data.csv", put_csv)])
def test_groups_above_the_names_of_columns_are_no_header(
    name: str, put: Callable[[Path, list[list[Any]]], None], tmp_path: Path
) -> None:
    groups, names = ["Sentence", None, "Difficulty", None], ["ID", "Text", "Votes", "Label"]
    data = [[n, text, 10 + n % 3, mark] for n, (text, mark) in enumerate(zip(TEXTS, again(["a", "b"]), strict=True))]
    put(tmp_path / name, [groups, names, *data])
    found = layout(str(tmp_path / name))
    assert (found.text, found.label) == (("Text",), ("Label",))
    assert len(rows_of(own_task(str(tmp_path / name), {}))) == COUNT


def test_a_score_next_to_a_category_is_named(tmp_path: Path) -> None:
    scores = [f"{1 + number * 37 % 400 / 100:.2f}" for number in range(COUNT)]
    found = layout(table(tmp_path / "data.csv", {"text": TEXTS, "article": again(["a", "b"]), "complexity": scores}))
    assert any("label=complexity" in rival for rival in found.rivals)


@pytest.mark.parametrize("place", [0, 2, 4])
def test_columns_of_labels_are_all_labels_whatever_their_name(place: int, tmp_path: Path) -> None:
    names = ["age", "gender", "insult", "clean"]
    names.insert(place, "language")
    flags = {name: again([0, 1] if number % 2 else [1, 0, 0]) for number, name in enumerate(names)}
    assert layout(table(tmp_path / "data.csv", {"comment": TEXTS, **flags})).label == tuple(names)


def votes(tmp_path: Path, label: str) -> str:
    kinds = again(["entailment", "neutral", "contradiction"])
    pair = {"sentence1": TEXTS, "sentence2": [f"{text}, they say" for text in TEXTS], label: kinds}
    one = {f"label{number}": [kinds[(n + (n % 5 == number)) % COUNT] for n in range(COUNT)] for number in range(5)}
    return table(tmp_path / "data.csv", pair | one)


@pytest.mark.parametrize("label", ["label", "gold_label"])
def test_votes_next_to_the_label_of_a_pair_are_no_choices(label: str, tmp_path: Path) -> None:
    data = votes(tmp_path, label)
    for settings in ({}, {"label": label}, {"label": "label3"}):
        found = layout(data, **settings)
        assert (found.text, found.label) == (("sentence1", "sentence2"), (settings.get("label", label),))


def halves(tmp_path: Path) -> str:
    subjects = ["" if number % 6 == 0 else f"About {number}" for number in range(COUNT)]
    texts = ["" if number in (0, 1) else text for number, text in enumerate(TEXTS)]
    return table(tmp_path / "data.csv", {"Subject": subjects, "Description": texts, "queue": again(["a", "b"])})


def test_an_empty_half_of_a_pair_is_an_empty_text(tmp_path: Path) -> None:
    task = own_task(halves(tmp_path), {"text": "Subject,Description"})
    rows = rows_of(task)
    assert [(row.text, row.pair) for row in rows[:2]] == [("About 1", ""), ("About 2", TEXTS[2])]
    assert len(rows) == COUNT - 1  # one has neither
    notes = " ".join(task.load(Source(), "train").notes)
    assert "texts of the column 'Subject' that are empty: read so (rows 7, 13, 19 and 6 more" in notes
    assert "'Description' that are empty: read so (row 2; line 3)" in notes


def test_columns_are_joined_into_one_text(tmp_path: Path) -> None:
    data = halves(tmp_path)
    rows = rows_of(own_task(data, {"text": "Subject+Description"}))
    assert [(row.text, row.pair) for row in rows[:2]] == [("About 1", None), (f"About 2 {TEXTS[2]}", None)]
    with pytest.raises(UserError, match="has no column 'Body'"):
        own_task(data, {"text": "Subject+Body"})
    with pytest.raises(UserError, match="joins columns into one text, and this data has shape=tagging"):
        own_task(data, {"text": "Subject+Description", "shape": "tagging", "label": "queue"})


def test_a_model_of_joined_columns_needs_them_all(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    halves(tmp_path)
    ran = here("run", "data.csv", "text=Subject+Description", "train.epochs=1", f"model={tiny_bert}", "pooling=family")
    assert ran.returncode == 0, ran.stderr
    assert "Subject+Description" in ran.stderr
    predicted = here("predict", "data.csv", "data.csv", "--output", "out.csv")
    assert predicted.returncode == 0, predicted.stderr
    table(tmp_path / "half.csv", {"Subject": TEXTS, "queue": again(["a", "b"])})
    half = here("predict", "data.csv", "half.csv")
    assert half.returncode == 2
    assert "Description" in half.stderr
