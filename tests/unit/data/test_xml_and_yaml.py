"""XML and YAML, whose rows are elements and objects."""

import builtins
from pathlib import Path
from typing import Any

import pytest
from support.files import write

from finetune.data.files import split_files
from finetune.data.reading import read_table
from finetune.errors import UserError
from finetune.task_types.columns import own_data
from finetune.task_types.own_data import own_task

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


def test_xml_and_yaml_of_a_folder_are_data_if_they_name_a_split(tmp_path: Path) -> None:
    for name in ("train.xml", "test.xml", "pom.xml"):
        write(tmp_path / name, SEMEVAL_2014)
    assert split_files(tmp_path) == {"train": tmp_path / "train.xml", "test": tmp_path / "test.xml"}
    (tmp_path / "one").mkdir()
    write(tmp_path / "one" / "a.csv", "text,label\na,b\n")
    write(tmp_path / "one" / "config.yml", "a: 1\n")
    assert split_files(tmp_path / "one") == {"train": tmp_path / "one" / "a.csv"}
