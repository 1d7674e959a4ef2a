"""The page of a server as a file: its policy is that of its parts, and it names no other place."""

import re

import pytest
from support.runs import FinishedRun

import finetune
from finetune.analysis.pages.templates import script_hash
from finetune.commands.serve.app import served_page
from finetune.commands.serve.model import about_model


@pytest.mark.parametrize("tag", ["style", 'script type="module"'])
def test_its_policy_allows_this_style_and_script_alone(tag: str) -> None:
    page = served_page()
    html, policy = bytes(page.body).decode(), page.headers["content-security-policy"]
    (text,) = re.findall(rf"<{tag}>(.*?)</{tag.split()[0]}>", html, re.DOTALL)
    assert f"{tag.split()[0]}-src 'sha256-{script_hash(text)}'" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy


def test_it_names_no_other_place_and_writes_no_markup() -> None:
    html = bytes(served_page().body).decode()
    assert re.findall(r"https?:|//\w+\.\w+/|@import|url\(", html) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", html) == []
    assert re.findall(r"\son\w+=|\sstyle=", html) == []


@pytest.mark.parametrize(("kind", "lists"), [("choice", []), ("choice by letter", []), ("sentence", [])])
def test_columns_with_a_list_of_choices_are_named(finished_run: FinishedRun, kind: str, lists: list[str]) -> None:
    about = about_model(finetune.load(finished_run(kind)))
    assert about["lists"] == lists
    assert about["columns"] == list(about["example"])
