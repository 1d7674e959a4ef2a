"""Formats that are known by name: XML, YAML, files of texts and labels, sheets of a workbook; and those refused."""

import builtins
import json
import shlex
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
from finetune.task_types.columns import own_data
from finetune.task_types.own_data import own_task
from finetune.task_types.trained_form import form_for

SEMEVAL_2014 = """<?xml version="1.0" encoding="UTF-8"?>
<sentences>
  <sentence id="a"><text>But the staff was horrible.</text>
    <aspectTerms><aspectTerm term="staff" polarity="negative" from="8" to="13"/></aspectTerms></sentence>
  <sentence id="b"><text>The food was good, as the wine.</text>
    <aspectTerms><aspectTerm term="food" polarity="positive" from="4" to="8"/>
    <aspectTerm term="wine" polarity="positive" from="26" to="30"/></aspectTerms></sentence>
  <sentence id="c"><text>We were four.</text></sentence>
</sentences>"""
SEMEVAL_2016 = """<Reviews><Review rid="1"><sentences>
  <sentence id="1:0"><text>The place was fair.</text>
    <Opinions><Opinion target="place" category="R#G" polarity="neutral" from="4" to="9"/></Opinions></sentence>
  <sentence id="1:1"><text>We were four.</text></sentence></sentences></Review>
  <Review rid="2"><sentences><sentence id="2:0"><text>All of it was good.</text></sentence></sentences></Review>
</Reviews>"""


def columns(path: Path) -> dict[str, list[Any]]:
    return read_table(path).columns


def test_an_element_of_xml_is_a_row(tmp_path: Path) -> None:
    found = columns(write(tmp_path / "a.xml", SEMEVAL_2014))
    assert found["id"] == ["a", "b", "c"]
    assert found["text"][0] == "But the staff was horrible."
    assert [[(item["from"], item["to"], item["polarity"]) for item in cell] for cell in found["aspectTerms"]] == [
        [(8, 13, "negative")], [(4, 8, "positive"), (26, 30, "positive")], [],
    ]  # fmt: skip
    later = columns(write(tmp_path / "b.xml", SEMEVAL_2016))
    assert later["id"] == ["1:0", "1:1", "2:0"]
    assert [len(cell) for cell in later["Opinions"]] == [1, 0, 0]
    tweets = "".join(
        f"<tweet><id>{n}</id><content>it was so {word}</content><sentiment><value>{n}</value></sentiment></tweet>"
        for n, word in enumerate(("good", "bad"))
    )
    assert columns(write(tmp_path / "c.xml", f"<t>{tweets}</t>")) == {
        "id": ["0", "1"], "content": ["it was so good", "it was so bad"],
        "sentiment": [{"value": "0"}, {"value": "1"}], "sentiment.value": ["0", "1"],
    }  # fmt: skip
    inline = '<d><s l="x">I met <b>Ann</b> there</s>\n<s l="y">and that is all</s></d>'
    assert columns(write(tmp_path / "d.xml", inline)) == {
        "l": ["x", "y"], "text": ["I met Ann there", "and that is all"],
    }  # fmt: skip


def test_aspect_terms_are_spans(tmp_path: Path) -> None:
    rows = SEMEVAL_2014.replace("</sentences>", "").partition("<sentences>")
    path = write(tmp_path / "train.xml", f"{rows[0]}<sentences>{rows[2] * 8}</sentences>")
    read = own_data(own_task(str(path), {}))
    assert read is not None
    assert (read.layout.shape, read.layout.label, read.layout.labels) == (
        "tagging", ("aspectTerms",), ("negative", "positive"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<a><b>one two</b>", "is not valid XML"),
        ("<a><b>one two</b></a>", "without an element for each row"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a><b>&x; two</b><b>&x;</b></a>', "entities of its own"),
    ],
)
def test_xml_that_cannot_be_read_is_refused(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        columns(write(tmp_path / "a.xml", content))


def test_a_package_that_is_absent_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("defusedxml"):
            raise ImportError(name)
        return real(name, *rest, **named)

    path = write(tmp_path / "a.xml", SEMEVAL_2014)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"pip install 'bert-finetune\[xml\]'"):
        columns(path)


def test_rows_of_yaml(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", "- {text: a film, label: good}\n- text: no film\n  label: bad\n")
    assert columns(path) == {"text": ["a film", "no film"], "label": ["good", "bad"]}
    for content, said in (
        (
            'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n',
            "is training data of Rasa, which is not",
        ),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: [1\nb: 2\n", r"a.yaml:2: is not YAML"),
        ("a: 1\n", "YAML without a list of rows"),
    ):
        with pytest.raises(UserError, match=said):
            columns(write(path, content))


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


@pytest.mark.parametrize(
    ("texts", "labels"),
    [("STS.input.news.txt", "STS.gs.news.txt"), ("train.txt", "train.labels"), ("train_text.txt", "train_scores.txt")],
)
def test_texts_and_their_labels_in_two_files(tmp_path: Path, texts: str, labels: str) -> None:
    write(tmp_path / texts, "a cat sat, it did\tthe cat sat\na dog\tno dog\n")
    write(tmp_path / labels, "4.5\n0\n")
    assert columns(tmp_path / texts) == {
        "sentence1": ["a cat sat, it did", "a dog"], "sentence2": ["the cat sat", "no dog"], "label": ["4.5", "0"],
    }  # fmt: skip
    assert split_files(tmp_path) == {"train": tmp_path / texts}


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


def test_xml_and_yaml_of_a_folder_are_data_if_they_name_a_split(tmp_path: Path) -> None:
    for name in ("train.xml", "test.xml", "pom.xml"):
        write(tmp_path / name, SEMEVAL_2014)
    assert split_files(tmp_path) == {"train": tmp_path / "train.xml", "test": tmp_path / "test.xml"}
    (tmp_path / "one").mkdir()
    write(tmp_path / "one" / "a.csv", "text,label\na,b\n")
    write(tmp_path / "one" / "config.yml", "a: 1\n")
    assert split_files(tmp_path / "one") == {"train": tmp_path / "one" / "a.csv"}


@pytest.mark.parametrize(
    ("lists", "found"), [(("train", "validation", "test"), {"train", "dev", "test"}), (("train", "notes"), {"train"})]
)
def test_the_command_that_divides_a_file_of_splits_works(
    lists: tuple[str, ...], found: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"the cat {i} sat", "label": "ab"[i % 2]} for i in range(40)]
    Path("all 1.json").write_text(json.dumps({name: rows[place:] for place, name in enumerate(lists)}))
    with pytest.raises(UserError) as error:
        read_table(Path("all 1.json"))
    python, _, run = error.value.way_out.removeprefix("Write each into a file: ").partition(", then `")
    subprocess.run([sys.executable, *shlex.split(python)[1:]], check=True)
    data = Path(shlex.split(run.rstrip("`"))[2])
    assert set(split_files(data)) == found
