"""Leaderboards: which runs are one line, what is compared, and what is said of the rest."""

import math
from typing import Any

import numpy as np
import pytest
from support.records import run

from finetune.analysis.leaderboard import board_form, leaderboards
from finetune.metrics.significance import SKETCHED, holm
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import Margin


def known(score: float, *, seed: int = 1, half: float = 0.02, sketch: str | None = None, **facts: Any) -> RunRecord:
    """A run whose record has an interval over rows."""
    drawn = np.random.default_rng(int(1000 * score)).integers(-60, 60, SKETCHED).astype(np.int8).tobytes().hex()
    margin = Margin(interval=(score - half, score + half), sketch=drawn if sketch is None else sketch)
    found = run(score, seed=seed, **facts).model_copy(update={"margins": {"dev": margin}})
    return found.model_copy(update={"seconds": {"training": 10.0 * seed}, "parameters": {"all": 1_000_000}})


def test_runs_that_differ_only_in_seeds_are_a_line() -> None:
    records = [known(0.8 + seed / 100, seed=seed) for seed in (1, 2, 3)]
    records += [known(0.7 + seed / 100, seed=seed, frozen=True) for seed in (1, 2, 3)]
    (board,) = leaderboards(records)
    best, other = board.lines
    assert [len(line.records) for line in board.lines] == [3, 3]
    assert best.verdict.score == pytest.approx(0.82)
    assert (best.settings, other.settings) == ("", "frozen=true")
    assert (best.difference, best.p_holm) == (None, None)
    assert other.difference is not None and other.difference.interval is not None
    assert other.difference.value == pytest.approx(-0.1)
    assert other.difference.interval[1] < 0
    assert other.p_holm == pytest.approx(other.difference.p)  # of one pair
    number = board_form([board]).numbers[0]
    assert (number["seconds"], number["megabytes"]) == (20.0, 4.0)
    assert (number["baseline"], number["baseline_score"]) == ("the majority label", pytest.approx(0.5))
    assert not any("seeds alone" in note for note in board.notes)


def test_p_is_adjusted_for_all_pairs() -> None:
    records = [known(0.8 - lines / 20, seed=seed, layers=f"l{lines}") for lines in range(3) for seed in (1, 2)]
    (board,) = leaderboards(records)
    assert board.pairs == 3
    adjusted = [line.p_holm for line in board.lines[1:]]
    of_best = holm([line.difference.p for line in board.lines[1:] if line.difference])
    assert all(a is not None and a >= b for a, b in zip(adjusted, of_best, strict=True))


def test_runs_on_other_data_are_on_a_board_of_their_own() -> None:
    records = [known(0.8), known(0.9, seed=2, data="e", rows=100, limit=100), known(0.7, frozen=True)]
    first, second = leaderboards(records)
    assert {len(first.lines), len(second.lines)} == {1, 2}
    alone = next(board for board in (first, second) if len(board.lines) == 1)
    assert alone.rows == 100
    assert alone.lines[0].difference is None
    form = board_form([first, second])
    assert "2 versions of the data are not compared" in form.notes[0]
    assert "limit=100" in "".join(title for title, _ in form.groups)
    same = board_form(leaderboards([known(0.8), known(0.9, data="e")]))  # as many rows, but others
    assert [title.rpartition(", ")[2] for title, _ in same.groups] == ["data d", "data e"]


def test_what_records_do_not_have_is_said() -> None:
    records = [run(0.8 + seed / 100, seed=seed) for seed in (1, 2)] + [run(0.6, frozen=True)]
    (board,) = leaderboards(records)
    assert board.lines[0].of_seeds
    assert board.lines[1].difference is None
    notes = " ".join(board.notes)
    assert "† counts the chance of seeds alone" in notes
    assert "nothing to tell it by" in notes
    assert "one seed" in notes
    assert "†" in "".join(board_form([board]).rows[0])
    older = leaderboards([known(0.8, sketch=""), known(0.7, frozen=True, sketch="")])[0]
    assert any("wider than needed" in note for note in older.notes)


def test_a_line_without_a_test_against_its_baseline_says_so() -> None:
    margin = Margin(interval=(0.7, 0.9), baseline="majority", difference=0.3, difference_interval=(0.2, 0.4))
    tested = run(0.8).model_copy(update={"margins": {"dev": margin}})
    for record, cell, noted in (
        (tested, "better than the majority label 50.0", False),
        (known(0.8), "not tested against the majority label 50.0", True),
        (known(0.5), "equal to the majority label 50.0", False),
    ):
        form = board_form(leaderboards([record]))
        assert form.rows[0][form.header.index("against baseline")] == cell
        assert any(note.startswith("not tested against a baseline") for note in form.notes) == noted


def test_few_rows_other_devices_and_undefined_scores() -> None:
    records = [known(0.8, rows=20), run(math.nan, rows=20, frozen=True).model_copy(update={"device": "cuda"})]
    (board,) = leaderboards(records)
    assert [line.settings for line in board.lines] == ["", "frozen=true"]  # what is undefined is the last
    assert board.lines[1].difference is None
    notes = " ".join(board.notes)
    assert "only 20 rows in dev" in notes
    assert "different devices" in notes


def test_folds_are_one_line_without_a_test() -> None:
    records = [known(0.8 + fold / 100, data=f"d{fold}", options={"fold": fold}) for fold in range(3)]
    records += [known(0.7 + fold / 100, data=f"d{fold}", options={"fold": fold}, frozen=True) for fold in range(3)]
    (board,) = leaderboards(records)
    assert [len(line.records) for line in board.lines] == [3, 3]
    assert board.lines[1].difference is None
    assert "in 3 folds" in board.title
    assert any("each fold has rows of its own" in note for note in board.notes)


def test_numbers_and_cells_agree() -> None:
    records = [known(0.8, test=0.75), known(0.7, frozen=True, test=0.65)]
    boards = leaderboards(records)
    first, second = board_form(boards).numbers
    assert (first["best"], second["best"]) == (True, False)
    assert (first["score"], first["test_score"], first["runs"]) == (0.8, 0.75, "1")
    assert second["difference"] == pytest.approx(-0.1)
    form = board_form(boards)
    shown = dict(zip(form.header[1:], form.groups[0][1][1], strict=True))
    assert shown["score"] == "70.0"
    assert shown["to the best"].startswith("-10.0 (")
    assert shown["test"] == "65.0"
    assert shown["parameters"] == "1,000,000"


def test_perplexities_of_other_objectives_and_other_dev_rows_are_not_compared() -> None:
    mlm, ltr = (
        known(0.8, options={"objective": name}).model_copy(update={"options": {"objective": name}})
        for name in ("mlm", "ltr")
    )
    boards = leaderboards([mlm, ltr])
    assert [len(board.lines) for board in boards] == [1, 1]
    assert {board.title.rpartition("objective ")[2] for board in boards} == {"mlm", "ltr"}
    assert len(leaderboards([known(0.8), known(0.7, rows=300, keep_labels="0123456789")])) == 2


def test_no_folder_of_the_machine_is_named() -> None:
    (board,) = leaderboards([known(0.8, model="/home/me/enc", tokenizer="/home/me/v"), known(0.7, model="m")])
    form = board_form([board])
    assert "/home" not in str(form)
    assert "enc" in str(form.rows)
