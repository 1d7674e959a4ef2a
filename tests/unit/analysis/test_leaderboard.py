"""Leaderboards: which runs are one line, their order, and what is said of them."""

from typing import Any

import pytest
from support.records import run

from finetune.analysis.leaderboard import leaderboard
from finetune.runs.record import Margin, RunRecord


def known(score: float, *, seed: int = 1, half: float = 0.02, **facts: Any) -> RunRecord:
    """A run whose record has an interval over rows."""
    margin = Margin(interval=(score - half, score + half))
    found = run(score, seed=seed, **facts).model_copy(update={"margins": {"dev": margin}})
    return found.model_copy(update={"seconds": {"training": 10.0 * seed}, "parameters": {"all": 1_000_000}})


def test_runs_that_differ_only_in_seeds_are_a_line_and_the_best_is_the_first() -> None:
    records = [known(0.7 + seed / 100, seed=seed, frozen=True, test=0.65) for seed in (1, 2, 3)]
    records += [known(0.8 + seed / 100, seed=seed, test=0.75) for seed in (1, 2, 3)]
    form = leaderboard(records)
    first, second = form.numbers
    assert (first["score"], first["seeds"], first["seconds"]) == (pytest.approx(0.82), 3, 20.0)
    assert (first["settings"], second["settings"]) == ("", "frozen=true")
    assert (first["baseline"], first["baseline_score"]) == ("the majority label", pytest.approx(0.5))
    assert first["test_score"] == pytest.approx(0.75)
    shown = dict(zip(form.columns[1:], form.groups[0][1][1], strict=True))
    assert (shown["score"], shown["test"], shown["parameters"]) == ("72.0", "65.0", "1,000,000")
    assert "the majority label 50.0" in shown["against baseline"]


def test_runs_on_other_rows_are_a_group_of_their_own() -> None:
    form = leaderboard([known(0.8), known(0.9, seed=2, data="e", rows=100, limit=100), known(0.7, frozen=True)])
    assert sorted(len(rows) for _, rows in form.groups) == [1, 2]
    assert "2 versions of the data are not compared" in form.notes[0]
    same = leaderboard([known(0.8), known(0.9, data="e")])  # as many rows, but others
    assert [title.rpartition(", ")[2] for title, _ in same.groups] == ["data d", "data e"]
    mlm, ltr = (
        known(0.8, options={"objective": name}).model_copy(update={"options": {"objective": name}})
        for name in ("mlm", "ltr")
    )
    assert [row[1] for row in leaderboard([mlm, ltr]).rows] == ["1", "1"]
