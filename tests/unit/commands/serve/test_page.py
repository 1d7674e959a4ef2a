"""The page of a server as a file: its policy is that of its parts, its texts are whole, and it names no other place."""

import base64
import hashlib
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from support.runs import FinishedRun

from finetune.commands.serve.model import ServedModel, load_served
from finetune.commands.serve.page import SCRIPTS, served_page

PACKAGE = "finetune.commands.serve.page"
HANGUL = re.compile("[가-힣]")


def served(run: Path) -> ServedModel:
    return load_served(str(run))


def text_of(name: str) -> str:
    return files(PACKAGE).joinpath(name).read_text(encoding="utf-8")


def table_of(language: str) -> dict[str, str]:
    """The texts of a language by name."""
    (block,) = re.findall(rf"^  {language}: {{\n(.*?)^  }},", text_of("words.js"), re.MULTILINE | re.DOTALL)
    return dict(re.findall(r'(\w+): "(.*?)"', block))


@pytest.mark.parametrize("tag", ["style", 'script type="module"'])
def test_its_policy_allows_this_style_and_script_alone(tag: str) -> None:
    html, policy = served_page()
    (text,) = re.findall(rf"<{tag}>(.*?)</{tag.split()[0]}>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"{tag.split()[0]}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert policy.removesuffix("; frame-ancestors 'none'") in html


def test_it_names_no_other_place_and_writes_no_markup() -> None:
    html, _ = served_page()
    assert re.findall(r"https?:|//\w+\.\w+/|@import|url\(", html) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", html) == []
    assert re.findall(r"\son\w+=|\sstyle=", html) == []


def test_every_text_is_there_in_both_languages_and_used() -> None:
    english, korean = table_of("en"), table_of("ko")
    assert len(english) > 40
    assert english.keys() == korean.keys()
    for name, text in english.items():
        assert sorted(re.findall(r"\{\d\}", text)) == sorted(re.findall(r"\{\d\}", korean[name])), name
        assert HANGUL.search(korean[name]) or not re.search("[A-Za-z]{3}", text), name
    used = "".join(text_of(name) for name in SCRIPTS if name != "words.js") + text_of("page.html")
    assert [name for name in english if f'"{name}"' not in used] == []
    asked = set(re.findall(r'words\("(\w+)"|data-words="(\w+)"', used))
    assert {one for pair in asked for one in pair if one} <= english.keys()


def test_thresholds_are_those_of_the_model(finished_run: FinishedRun) -> None:
    model = served(finished_run("multilabel"))
    facts = model.about()
    assert facts["options"]["thresholds"] == list(model.predictor.task.thresholds)  # type: ignore[attr-defined]
    assert facts["contexts"] == 1


@pytest.mark.parametrize(("kind", "first"), [("choice", 1), ("choice by letter", 1), ("sentence", 1)])
def test_choices_are_counted_as_predictions_count_them(finished_run: FinishedRun, kind: str, first: int) -> None:
    model = served(finished_run(kind))
    assert model.about()["first_choice"] == first
    if kind == "choice":
        task = replace(model.predictor.task, counted_from=0)  # type: ignore[type-var]
        assert replace(model, predictor=replace(model.predictor, task=task)).about()["first_choice"] == 0
        assert "place + (model.first_choice ?? 1)" in text_of("forms.js")
