"""A language is one file of finetune/data/words/, and every list in it is one that is read."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from finetune.data.words.lists import LISTS

FILES = sorted((ROOT / "finetune" / "data" / "words").glob("*.toml"))
PAIRS = ("text_pairs", "no_yes")
NESTED = (*PAIRS, "scales")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_language_has_known_lists_of_different_words(file: Path) -> None:
    found: dict[str, list[Any]] = tomllib.loads(file.read_text(encoding="utf-8"))
    assert found and found.keys() <= LISTS.keys()
    for name, some in found.items():
        words = [word for part in some for word in part] if name in NESTED else some
        assert words and all(word and word == word.strip() for word in words), name
        assert len({*map(str, some)}) == len(some), name
        assert all(len(pair) == 2 for pair in some) or name not in PAIRS
