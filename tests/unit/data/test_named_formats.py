"""Sheets of a workbook, XML, YAML, and formats that are recognised and refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from support.files import write

from finetune.data.files import split_files
from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.task_types.columns import own_data
from finetune.task_types.own_data import own_task

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
        ({"a.json": json.dumps(DATATURKS)}, "a.json", "Dataturks",
         {"text": ["Ann met Lee"], "entities": [[[0, 3, "PER"]]]}),
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
    (converted,) = tmp_path.glob("rows.*")
    assert read_table(converted).columns == found


def workbook(path: Path, **sheets: list[list[str]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_sheet_of_several_is_chosen_by_name(tmp_path: Path) -> None:
    rows = [["text", "label"], *([f"the film was {n % 2} in {n} ways", "pn"[n % 2]] for n in range(24))]
    path = workbook(tmp_path / "a.xlsx", About=[["what", "who"], ["reviews", "us"]], **{"All rows": rows})
    asked = r"has 2 sheets with rows: 'About' \(2 rows\), 'All rows' \(25 rows\)\. Name .* 'sheet=All rows'"
    for read_it in (lambda: own_task(str(path), {}), lambda: read_table(path)):
        with pytest.raises(UserError, match=asked):
            read_it()
    read = own_data(own_task(str(path), {"sheet": "All rows"}))
    assert (read.layout.text, read.layout.label, len(read.table(path))) == (("text",), ("label",), 24)
    with pytest.raises(UserError, match=r"has no sheet .Rows.\. Its sheets are About, All rows"):
        own_task(str(path), {"sheet": "Rows"})
    with pytest.raises(UserError, match="which sheet= is for"):
        own_task(str(write(tmp_path / "a.csv", "text,label\na,b\n")), {"sheet": "Rows"})


SEMEVAL_2014 = """<?xml version="1.0" encoding="UTF-8"?>
<sentences>
  <sentence id="a"><text>But the staff was horrible.</text>
    <aspectTerms><aspectTerm term="staff" polarity="negative" from="8" to="13"/></aspectTerms></sentence>
  <sentence id="b"><text>The food was good, as the wine.</text>
    <aspectTerms><aspectTerm term="food" polarity="positive" from="4" to="8"/>
    <aspectTerm term="wine" polarity="positive" from="26" to="30"/></aspectTerms></sentence>
  <sentence id="c"><text>We were four.</text></sentence>
</sentences>"""
TWEETS = "".join(
    f"<tweet><id>{n}</id><content>it was so {word}</content><sentiment><value>{n}</value></sentiment></tweet>"
    for n, word in enumerate(("good", "bad"))
)


def test_an_element_of_xml_is_a_row(tmp_path: Path) -> None:
    found = read_table(write(tmp_path / "a.xml", SEMEVAL_2014)).columns
    assert (found["id"], found["text"][0]) == (["a", "b", "c"], "But the staff was horrible.")
    assert [[(item["from"], item["to"], item["polarity"]) for item in cell] for cell in found["aspectTerms"]] == [
        [(8, 13, "negative")], [(4, 8, "positive"), (26, 30, "positive")], [],
    ]  # fmt: skip
    assert read_table(write(tmp_path / "c.xml", f"<t>{TWEETS}</t>")).columns == {
        "id": ["0", "1"], "content": ["it was so good", "it was so bad"],
        "sentiment": [{"value": "0"}, {"value": "1"}], "sentiment.value": ["0", "1"],
    }  # fmt: skip
    yaml = "- {text: a film, label: good}\n- text: no film\n  label: bad\n"
    assert read_table(write(tmp_path / "a.yaml", yaml)).columns == {
        "text": ["a film", "no film"],
        "label": ["good", "bad"],
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xml", "<a><b>one two</b>", "is not valid XML"),
        ("a.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a><b>&x; two</b><b>&x;</b></a>', "entities of its own"),
        ("a.yaml", 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n', "is training data of Rasa"),
        ("a.yaml", "a: &x [1]\nb: *x\n", "aliases"),
        ("a.yaml", "a: [1\nb: 2\n", r"a.yaml:2: is not YAML"),
        ("a.yaml", "[" * 40_000, "a.yaml"),
    ],
)
def test_xml_and_yaml_that_cannot_be_read_are_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        read_table(write(tmp_path / name, content))


def test_the_files_of_a_folder_that_are_its_splits(tmp_path: Path) -> None:
    for name in (
        "xml/train.xml",
        "xml/test.xml",
        "xml/pom.xml",
        "one/a.csv",
        "one/config.yml",
        "two/a.csv",
        "two/b.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, "text,label\na,b\n")
    assert split_files(tmp_path / "xml") == {name: tmp_path / "xml" / f"{name}.xml" for name in ("train", "test")}
    assert split_files(tmp_path / "one") == {"train": tmp_path / "one" / "a.csv"}
    with pytest.raises(UserError, match=r"any of a.csv, b.csv could be the train file"):
        split_files(tmp_path / "two")
