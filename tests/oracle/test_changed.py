"""Changes that leave the meaning of a table alone: it is read as the same rows, or a question leads to them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from oracle.bases import BASES
from oracle.changed import CHANGES, judged, variant, variants
from oracle.layout import Text

FAST, ALL = 2, 20  # variants of each base


def wrong(folder: Path, each: int) -> list[str]:
    found = []
    for number, (base, seed) in enumerate(variants(each)):
        place = folder / str(number)
        place.mkdir()
        outcome = judged(variant(base, seed), place)
        found += [f"{base.name} {seed}: {outcome.seen}"] if outcome.verdict == "wrong" else []
    return found


def test_changed_tables_are_read_rightly_or_asked_about(tmp_path: Path) -> None:
    assert wrong(tmp_path, FAST) == []


@pytest.mark.nightly
def test_five_hundred_changed_tables_are_read_rightly_or_asked_about(tmp_path: Path) -> None:
    assert wrong(tmp_path, ALL) == []


def test_the_variants_are_of_every_type_and_change_and_the_same_each_time() -> None:
    made = [variant(base, seed) for base, seed in variants(ALL)]
    assert len(made) == 500
    assert {base.shape for base in BASES} == {
        "classification", "regression", "multi-label", "choice", "span", "tagging",
    }  # fmt: skip
    assert min(Counter(what for one in made for what in one.done)[what] for what in CHANGES) > 50
    assert [variant(one.base, seed) for one, (_, seed) in zip(made, variants(ALL), strict=True)] == made


def test_other_rows_than_those_of_the_base_are_wrong(tmp_path: Path) -> None:
    made = variant(BASES[0], 0)
    other = replace(made, base=replace(made.base, row=lambda cells, _: Text(cells["text"], None, "maybe")))
    assert judged(made, tmp_path).verdict == "right"
    assert judged(other, tmp_path).verdict == "wrong"
