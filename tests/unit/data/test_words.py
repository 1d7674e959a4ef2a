"""A language is one file of finetune/data/words/, and every list in it is one that is read."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from finetune.data.words import lists
from finetune.data.words.lists import LISTS, by_language, pair_list, word_list
from finetune.task_types.column_names import label_tier, text_tier

FILES = sorted((ROOT / "finetune" / "data" / "words").glob("*.toml"))
PAIRS = ("text_pairs", "no_yes")
NESTED = (*PAIRS, "scales")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files in a folder that a test may change."""
    copied = tmp_path / "words"
    copied.mkdir()
    for file in FILES:
        shutil.copy(file, copied)
    monkeypatch.setattr(lists, "FOLDER", copied)
    _forget()
    yield copied
    _forget()


def _forget() -> None:
    for read in (lists._files, word_list, pair_list):
        read.cache_clear()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_language_has_known_lists_of_different_words(file: Path) -> None:
    found: dict[str, list[Any]] = tomllib.loads(file.read_text(encoding="utf-8"))
    assert found and found.keys() <= LISTS.keys()
    for name, some in found.items():
        words = [word for part in some for word in part] if name in NESTED else some
        assert words and all(word and word == word.strip() for word in words), name
        assert len({*map(str, some)}) == len(some), name
        assert all(len(pair) == 2 for pair in some) or name not in PAIRS


def test_every_list_is_in_a_file_and_read_by_the_package() -> None:
    assert len(FILES) >= 12
    assert {name for file in FILES for name in tomllib.loads(file.read_text(encoding="utf-8"))} == {*LISTS}
    sources = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "finetune").rglob("*.py"))
    assert [name for name in LISTS if len(re.findall(rf'"{name}"', sources)) < 2 and "choice_" not in name] == []


def test_english_comes_first_and_each_word_once() -> None:
    assert word_list("label")[:2] == ("label", "labels")
    assert list(by_language("label"))[:2] == ["English", "Chinese"]
    assert len({*word_list("text")}) == len(word_list("text"))
    assert ("no", "si") in pair_list("no_yes") and ("нет", "да") in pair_list("no_yes")


def test_a_list_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="lable"):
        word_list("lable")


def test_a_language_is_added_by_a_file(folder: Path) -> None:
    assert (label_tier("oordeel"), text_tier("recensie_tekst")) == (None, None)
    (folder / "dutch.toml").write_text('label_subject = ["oordeel"]\ntext = ["tekst"]\n', encoding="utf-8")
    _forget()
    assert (label_tier("oordeel"), text_tier("recensie_tekst")) == (2, 1)
    assert "Dutch" in by_language("text")
