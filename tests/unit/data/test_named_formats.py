"""Sheets of a workbook, and formats that are recognised and refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from support.files import write

from finetune.commands.check.findings import findings_of
from finetune.data.files import split_files
from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.task_types.columns import own_data
from finetune.task_types.own_data import own_task
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
    with pytest.raises(UserError, match=f"{name}: is .*{said}.* is not read. Convert it") as error:
        own_task(str(tmp_path / name), {})
    command = error.value.way_out.partition(": ")[2]
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


def test_a_sheet_of_several_is_chosen_by_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx")
    asked = r"has 2 sheets with rows: 'About' \(2 rows\), 'All rows' \(25 rows\)\. Name .* 'sheet=All rows'"
    for read_it in (lambda: own_task(str(path), {}), lambda: findings_of(str(path), {}), lambda: read_table(path)):
        with pytest.raises(UserError, match=asked):
            read_it()
    read = own_data(own_task(str(path), {"sheet": "All rows"}))
    assert read is not None
    assert (read.layout.text, read.layout.label, len(read.table(path))) == (("text",), ("label",), 24)
    assert str(form_for(path, read.layout, {})) == "Excel, sheet 'All rows'"
    assert str(form_for(path, read.layout, {"sheet": "About"})) == "Excel, sheet 'About'"
    with pytest.raises(UserError, match=r"has no sheet .Rows.\. Its sheets are About, All rows"):
        own_task(str(path), {"sheet": "Rows"})
    with pytest.raises(UserError, match="which sheet= is for"):
        own_task(str(write(tmp_path / "a.csv", "text,label\na,b\n")), {"sheet": "Rows"})


def test_a_sheet_without_rows_is_not_asked_about(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["text"])
    rows = book.create_sheet("Data")
    for text in ("text", "a cat", "a dog"):
        rows.append([text])
    book.save(tmp_path / "a.xlsx")
    assert columns(tmp_path / "a.xlsx") == {"text": ["a cat", "a dog"]}


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
