"""Sentences of another language: how they are found, and that none is left over."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.paths import ROOT

from finetune.languages.chosen import FOLDER, languages
from finetune.languages.sentences import VALUE, Sentences, sentences_in

HANGUL = re.compile("[가-힣]")
NOT_IN_ONE_TEXT = {  # the code puts these together, and other tests see them used
    *("number over", "false or", "went from", "is high", "epochs it", "than how"),
    *("points worse", "setting differs", "after part"),
}
OF_TYPER = {
    "Missing argument '{name}'",
    "Missing option '{name}'",
    "Option '{name}' requires an argument",
    "Got unexpected extra argument ({name})",
    "Invalid value for '{name}': {why}",
}
FILES = sorted(FOLDER.glob("*/*.toml"))


def lines_of(file: Path) -> dict[str, str]:
    """The sentences of a file."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def names(text: str, left_out: bool) -> list[str]:
    """The values of a sentence."""
    found = [(mark.strip("#"), name) for mark, name, end in VALUE.findall(text) if not end]
    return sorted(mark + name for mark, name in found if left_out or mark != "-")


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_each_sentence_has_the_values_of_the_english_one_and_its_commands(file: Path) -> None:
    lines = lines_of(file)
    assert lines
    assert {text for text, says in lines.items() if names(text, False) != names(says, True)} == set()
    for text, says in lines.items():
        assert set(re.findall("`[^`]+`", text)) == set(re.findall("`[^`]+`", says)), text
        assert HANGUL.search(says) or not re.search("[a-z]{2} [a-z]{2}", text), text
        assert not re.search("}[은는이가을를와과] ", says), text  # 은(는), since a value ends in a vowel or not


def test_every_language_has_every_file() -> None:
    assert languages() == ("en", "ko")
    assert {file.stem for file in FILES if file.parent.name == "ko"} == {"help", "errors", "diagnosis", "pages"}


@cache
def code() -> str:
    """All texts of the package, with templates and scripts of pages."""
    return "\n".join(texts_in_code()).lower()


def texts_in_code() -> Iterator[str]:
    for file in (ROOT / "finetune").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    for file in (ROOT / "finetune").rglob("*"):
        if file.suffix in (".j2", ".js"):
            yield file.read_text(encoding="utf-8")


@pytest.mark.parametrize("part", ["errors", "diagnosis", "pages"])
def test_no_sentence_is_left_that_the_code_does_not_say(part: str) -> None:
    pieces = {
        (text, words)
        for text in lines_of(FOLDER / "ko" / f"{part}.toml").keys() - OF_TYPER
        for piece in re.split(VALUE.pattern, text)
        for words in re.findall(r"(?=(\b[a-z]+ [a-z]+\b))", (piece or "").lower())  # the code may write it in parts
    }
    left = {text: words for text, words in pieces if words not in code() and words not in NOT_IN_ONE_TEXT}
    assert left == {}


def test_a_sentence_is_known_by_what_is_around_its_values() -> None:
    found = Sentences({
        "{count} row(s) of {split}": "{split}의 {count}행",
        "{file}: {*what}": "{file}: {*what}",
        "is empty": "비어 있습니다",
        "Fix it.": "고치세요.",
        "it reads {-what}": "여러 가지로 읽힙니다",
    })  # fmt: skip
    assert found.of("1,200 rows of dev") == "dev의 1,200행"
    assert found.of("1 row of dev. Fix it.") == "dev의 1행. 고치세요."
    assert found.of("a: b.csv: is empty; 1 row of dev") == "a: b.csv: 비어 있습니다. dev의 1행"
    assert found.of("1 row of dev; is empty") == "dev의 1행; 비어 있습니다"
    assert found.known("a.csv: is full") is None
    assert found.of("a.csv: is full. Fix it.") == "a.csv: is full. 고치세요."
    assert found.known("a.csv: is full. Fix it.") is None
    assert found.known("it reads A or B") == "여러 가지로 읽힙니다"
    assert found.known("") is None


def test_what_is_too_long_is_not_searched() -> None:
    assert sentences_in("ko", "errors").of("a " * 5_000) == "a " * 5_000
