"""`finetune check`: texts that are nearly equal."""

import random
from pathlib import Path

import pytest
from support.checked_files import Check, reviews, texts

from finetune.checks import duplicates
from finetune.checks.minhash import LEAST_SIMILARITY, likeness, near_pairs
from finetune.data import characters
from finetune.data.characters import census, text_slices


def test_near_duplicates_are_those_alike_by_their_runs_of_letters() -> None:
    made = texts(300, words=20)
    generator = random.Random(3)
    changed = []
    for text in made[:100]:
        place = generator.randrange(len(text) - 30)
        changed.append(text[:place] + "#" + text[place + generator.choice((1, 3, 12, 20)) :])
    alike = {
        300 + i: i
        for i, (one, other) in enumerate(zip(made, changed, strict=False))
        if likeness(one, other) >= LEAST_SIMILARITY
    }
    assert 20 < len(alike) < 80
    assert dict(near_pairs([*made, *changed])) == alike
    assert dict(near_pairs([made[0], made[0].upper()])) == {1: 0}


def test_of_very_many_texts_a_sample_is_searched_and_that_is_said(
    tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = reviews(tmp_path / "a.csv", text={i: text[:-1] + "#" for i, text in enumerate(texts(30), 31)})
    monkeypatch.setattr(duplicates, "MOST_TEXTS", 50)
    (finding,) = (finding for finding in check(path).findings if finding.code == "near-duplicate")
    assert "50 of the 60" in finding.what
    assert 15 < finding.count < 30


def test_what_to_do_is_of_the_split_that_the_file_has(tmp_path: Path, check: Check) -> None:
    near = {i: text[:-1] + "#" for i, text in enumerate(texts(30), 31)}

    def remedy(**settings: str) -> str:
        path = reviews(tmp_path / "a.csv", text=near)
        lines = path.read_text().splitlines()
        parts = ["part", *("dev" if i % 5 == 0 else "train" for i in range(1, len(lines)))]
        cells = parts if "split" in settings else [f"n{i}" for i in range(len(lines))]
        path.write_text("\n".join(f"{line},{part}" for line, part in zip(lines, cells, strict=True)))
        return next(one.remedy for one in check(path, **settings).findings if one.code == "near-duplicate")

    assert "sampled dev split" in remedy()
    assert "sampled" not in remedy(split="part") and "'part'" in remedy(split="part")
    reviews(tmp_path / "dev.csv")
    assert remedy(dev=str(tmp_path / "dev.csv")) == "Check whether both should stay"


def test_long_texts_are_looked_at_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    many = texts(40, words=30)
    whole, near = census(many), near_pairs([*many, many[3] + "!"])
    monkeypatch.setattr(characters, "CHUNK_CHARS", 1_000)
    assert [part.stop - part.start for part in text_slices([400, 400, 400, 5_000, 1])] == [2, 1, 1, 1]
    assert (census(many) == whole).all()
    assert near_pairs([*many, many[3] + "!"]) == near == [(40, 3)]
    assert not list(text_slices([]))
