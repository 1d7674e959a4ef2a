"""Sheets of a workbook, and formats that are recognised and refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from support.files import write
from support.own_data import own_task as sound_task

from finetune.commands.check.api import findings_of
from finetune.data.files import split_files
from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.task_types.own_data import own_data, own_task
from finetune.task_types.trained_form import form_for


def columns(path: Path) -> dict[str, list[Any]]:
    return read_table(path).columns


ONTONOTES = """#begin document (bn/a); part 000
bn/a 0 0 Ann NNP (TOP(S(NP* - - - - (PERSON* (ARG0* -
bn/a 0 1 Lee NNP *) - - - - *) *) -
bn/a 0 2 left VBD (VP* leave 01 1 - * (V*) -
bn/a 0 3 Bonn NNP (NP*))) - - - - (GPE) * (0)

bn/a 0 0 Yes UH (TOP*) - - - - * * -

#end document
#begin document (bn/a); part 001
bn/a 0 0 No UH (TOP*) - - - - * * -
#end document
"""


SLOTS = {"seq.in": "fly to new york\nhow much\n", "seq.out": "O O B-to I-to\nO O\n", "label": "flight\nfare\n"}
DATATURKS = {
    "content": "Ann met Lee", "annotation": [{"label": ["PER"], "points": [{"start": 0, "end": 2, "text": "Ann"}]}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "name", "said", "found"),
    [
        (
            {"a b.gold_conll": ONTONOTES}, "a b.gold_conll", "CoNLL-2012",
            {"words": [["Ann", "Lee", "left", "Bonn"], ["Yes"], ["No"]],
             "tags": [["B-PERSON", "I-PERSON", "O", "B-GPE"], ["O"], ["O"]]},
        ),
        (
            {"notes/a.txt": "Ann met\nLee Fox.", "notes/a.ann": "T1\tPER 0 3\tAnn\nT2\tPER 8 11;12 15\tLee Fox\n"},
            "notes", r"brat \(a .ann next to a .txt\)",
            {"text": ["Ann met\nLee Fox."], "entities": [[[0, 3, "PER"], [8, 15, "PER"]]]},
        ),
        (
            {"a.txt": "Ann met", "a.ann": "T1\tPER 0 3\tAnn\n"}, "a.txt", "brat",
            {"text": ["Ann met"], "entities": [[[0, 3, "PER"]]]},
        ),
        (
            {f"train/{name}": content for name, content in SLOTS.items()}, "train", "words and slots",
            {"words": ["fly to new york", "how much"], "tags": ["O O B-to I-to", "O O"], "intent": ["flight", "fare"]},
        ),
        (
            {"dev.seq.in": SLOTS["seq.in"], "dev.seq.out": SLOTS["seq.out"]}, "dev.seq.in", "words and slots",
            {"words": ["fly to new york", "how much"], "tags": ["O O B-to I-to", "O O"]},
        ),
        (
            {"a.json": json.dumps(DATATURKS)}, "a.json", "Dataturks",
            {"text": ["Ann met Lee"], "entities": [[[0, 3, "PER"]]]},
        ),
        (
            {"a.xml": '<?xml version="1.0"?><rows><row id="a"><text>a cat</text></row><row id="b"/></rows>'}, "a.xml",
            "XML", {"id": ["a", "b"], "text": ["a cat", ""]},
        ),
        ({"a.yaml": "- {text: a cat, label: good}\n"}, "a.yaml", "YAML", {"text": ["a cat"], "label": ["good"]}),
        (
            {"train_text.txt": "a cat sat, it did\na dog\n", "train_labels.txt": "4\n0\n"}, "train_text.txt",
            "labels in another file", {"column 1": ["a cat sat, it did", "a dog"], "column 2": ["4", "0"]},
        ),
        (
            {"train.txt": "a cat sat, it did\na dog\n", "train.labels": "4\n0\n"}, "train.txt",
            "labels in another file", {"column 1": ["a cat sat, it did", "a dog"], "column 2": ["4", "0"]},
        ),
    ],
)  # fmt: skip
def test_a_format_that_is_not_read_is_named_with_a_command_that_converts_it(
    files: dict[str, str], name: str, said: str, found: dict[str, Any], tmp_path: Path
) -> None:
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        write(tmp_path / file, content)
    with pytest.raises(UserError, match=f"{name}: is .*{said}.* is not read. Convert it: ") as error:
        own_task(str(tmp_path / name), {})
    command = error.value.way_out.removeprefix("Convert it: ")
    subprocess.run(command.replace("python -c", f"{sys.executable} -c"), shell=True, check=True, cwd=tmp_path)
    (written,) = tmp_path.glob("rows.*")
    assert columns(written) == found


def workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "About"
    book.active.append(["what", "who"])
    book.active.append(["reviews of films", "us"])
    rows = book.create_sheet("All rows")
    rows.append(["text", "label"])
    for number in range(24):
        rows.append(
            [f"the film was {'good' if number % 2 else 'bad'} in {number} ways", "pos" if number % 2 else "neg"]
        )
    book.save(path)
    return path


def test_a_sheet_is_chosen_by_name_and_a_larger_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx")
    first = read_table(path)
    assert list(first.columns) == ["what", "who"]
    assert str(first.form) == "Excel, sheet 'About' of 2; 'All rows' has more rows (25): 'sheet=All rows' reads it"
    read = own_data(own_task(str(path), {"sheet": "All rows"}))
    assert read is not None
    assert (read.layout.text, read.layout.label, len(read.table(path))) == (("text",), ("label",), 24)
    assert str(form_for(path, read.layout, {})) == "Excel, sheet 'All rows' of 2"
    assert str(form_for(path, read.layout, {"sheet": "About"})) == "Excel, sheet 'About' of 2"
    with pytest.raises(UserError, match=r"has no sheet .Rows.\. Its sheets are About, All rows"):
        own_task(str(path), {"sheet": "Rows"})
    with pytest.raises(UserError, match="which sheet= is for"):
        own_task(str(write(tmp_path / "a.csv", "text,label\na,b\n")), {"sheet": "Rows"})


def with_cover(path: Path, *cover: list[str], rows: int = 12) -> Path:
    """A workbook of data below a sheet with these lines, and an empty sheet."""
    book = openpyxl.Workbook()
    book.active.title = "Read me"
    for line in cover:
        book.active.append(line)
    book.create_sheet("Empty")
    data = book.create_sheet("Data")
    data.append(["ticket", "team"])
    for number in range(rows):
        data.append([f"the ticket number {number} is about money", ("sales", "support")[number % 2]])
    book.save(path)
    return path


TITLE = [["Export of our tickets"], ["As of", "2024-05-01"], ["Contact", "Ms Meier"]]
DICTIONARY = [["column", "kind", "meaning"], ["ticket", "text", "what was asked"], ["team", "label", "who answered"]]


@pytest.mark.parametrize("cover", [TITLE, DICTIONARY, [["A note"], ["in two lines"]]])
def test_a_cover_asks_for_the_sheet_with_one_that_works(tmp_path: Path, cover: list[list[str]]) -> None:
    path = with_cover(tmp_path / "a.xlsx", *cover)
    asked = r"has 3 sheets, and the first has few rows. Choose one: sheet=Data \(another sheet, of 13 rows\)"
    for read in (lambda: own_task(str(path), {}), lambda: findings_of(str(path), {})):
        with pytest.raises(UserError, match=asked + r"; 'sheet=Read me' \(the first sheet, of "):
            read()
    read = own_data(own_task(str(path), {"sheet": "Data"}))
    assert read is not None and read.layout.label == ("team",)


def test_a_question_or_an_error_names_sheets_of_any_size(tmp_path: Path) -> None:
    path = with_cover(tmp_path / "a.xlsx", *TITLE, *([f"Note {n}", f"of {n} words"] for n in range(15)))
    with pytest.raises(UserError, match=r"two columns of texts.*; sheet=Data \(another sheet, of 13 rows\)$"):
        findings_of(str(path), {})
    with pytest.raises(UserError, match=r"has no column 'ticket' .*; other sheets: sheet=Data \(13 rows\)"):
        own_task(str(path), {"text": "ticket"})
    with pytest.raises(UserError, match=r"two columns of texts(?!.*another sheet)"):
        own_task(str(path), {"sheet": "Read me"})
    path = with_cover(tmp_path / "b.xlsx", *([f"Note {number}"] for number in range(15)))
    with pytest.raises(UserError, match=r"no column with texts.*; other sheets: sheet=Data \(13 rows\)"):
        sound_task(path)
    path = with_cover(tmp_path / "c.xlsx", ["what", "who"], rows=2)
    with pytest.raises(UserError, match=r"no rows below its header; other sheets: sheet=Data \(3 rows\)"):
        own_task(str(path), {})


@pytest.mark.parametrize("count", [2, 20])
def test_a_sheet_of_one_column_has_its_header_in_the_first_line(tmp_path: Path, count: int) -> None:
    book = openpyxl.Workbook()
    for cell in ("text", *map(str, range(count))):
        book.active.append([cell])
    book.save(tmp_path / "a.xlsx")
    assert columns(tmp_path / "a.xlsx") == {"text": [*map(str, range(count))]}


def test_two_candidates_for_train_are_said(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "test.csv"):
        write(tmp_path / name, "text,label\na,b\n")
    with pytest.raises(UserError, match=r"any of a.csv, b.csv could be the train file"):
        split_files(tmp_path)
    for name in ("train/a", "train/b", "training/a", "training/b"):
        (tmp_path / "folders" / name).mkdir(parents=True)
        write(tmp_path / "folders" / name / "1.txt", "Ann")
    with pytest.raises(UserError, match="could both be the train file"):
        split_files(tmp_path / "folders")
