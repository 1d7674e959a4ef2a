"""A language is one file of finetune/data/words/, and every list in it is one that is read."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from finetune.data.words.lists import LISTS, by_language, pair_list, word_list
from finetune.task_types.column_names import is_about, is_id_name, label_tier, text_tier

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


def test_english_comes_first_and_each_word_once() -> None:
    assert word_list("label")[:2] == ("label", "labels")
    assert list(by_language("label"))[:2] == ["English", "Chinese"]
    assert len({*word_list("text")}) == len(word_list("text"))
    assert ("no", "si") in pair_list("no_yes") and ("нет", "да") in pair_list("no_yes")


def test_names_that_say_label_text_id_or_something_else() -> None:
    labels = {"정답": 0, "customer_label": 1, "ToxicityLabel": 1, "Catégorie": 2, "customer_sentiment": 3, "plot": None}
    assert {name: label_tier(name) for name in labels} == labels
    names = {"text": 0, "review_body": 1, "title": 2, "product_title": 3, "stars": None}
    assert {name: text_tier(name) for name in names} == names
    assert all(map(is_id_name, ("id", "tweet_id", "ProductId", "번호")))
    assert all(map(is_about, ("created_at", "label_confidence", "lang", "retweet_count")))
