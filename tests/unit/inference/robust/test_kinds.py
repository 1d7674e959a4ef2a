"""Each kind of change, on texts with a place for it and without."""

from random import Random

import pytest

from finetune.inference.robust.kinds import KINDS, NAMES, Change

CHANGED = {  # kind: a text, and what it may become
    "typo": ("the weather", {"the waether", "the wetaher", "the weahter", "the weatehr"}),
    "vowel": ("그래 네", {"그레 네", "그래 내"}),
    "case": ("a fine day", {"a FINE day", "a fine DAY"}),
    "number": ("in 1998, 4 of them", {f"in 199{digit}, 4 of them" for digit in "012345679"}),
    "space": ("so good", {"sogood"}),
    "particle": ("그 영화를 봤다", {"그 영화 봤다"}),
    "punctuation": ("good .", {"good"}),
}
UNCHANGED = {
    "typo": "a bad day",
    "vowel": "good 바다",
    "case": "NO to it",
    "name": "a bad day in Jamestown",
    "number": "8 of 10/10, 95 %, 3.25",
    "space": "good",
    "particle": "밥을 먹었을 때",
    "punctuation": "...",
}


def change_of(name: str) -> Change:
    return next(kind.change for kind in KINDS if kind.name == name)


def changed(name: str, text: str, seed: int = 0) -> str | None:
    edit = change_of(name)(text, Random(seed))
    return None if edit is None else edit.applied(text)


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_made_at_one_place(name: str) -> None:
    text, allowed = CHANGED[name]
    found = {changed(name, text, seed) for seed in range(20)}
    assert found
    assert found <= allowed


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_text_without_a_place_stays(name: str) -> None:
    assert changed(name, UNCHANGED[name]) is None


@pytest.mark.parametrize("text", ["Mary and her dog", "김민수가 왔다"])
def test_names_stay_within_their_group(text: str) -> None:
    old = "Mary" if text.isascii() else "민수"
    before, _, after = text.partition(old)
    new = (changed("name", text) or "").removeprefix(before).removesuffix(after)
    (group,) = (group for group in NAMES if old in group)
    assert new in {*group} - {old}


def test_markers_and_a_full_stop() -> None:
    assert changed("typo", "<subject:PERSON>Bo</subject:PERSON>") is None
    assert changed("punctuation", "good") == "good."
