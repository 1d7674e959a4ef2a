"""`finetune search`: trials, resumed and continued; pruning; failures; the winner on held-out rows; best.toml."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.runs import REVIEWS

import finetune
from finetune.commands.search.result import Search
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run import run
from finetune.training.run_options import RunOptions

SPACE = """\
train.learning_rate = { low = 1e-5, high = 1e-2, log = true }
train.epochs = { low = 1, high = 4 }
train.batch_size = [8, 16]
"""


@pytest.fixture
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with reviews.csv and space.toml, in which commands run."""
    with (tmp_path / "reviews.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *REVIEWS])
    (tmp_path / "space.toml").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(folder: Path) -> dict[str, Any]:
    """The scores of every record of a results folder, by id."""
    records = [json.loads(file.read_text()) for file in folder.glob("*/*/record.json")]
    return {record["id"]: record["scores"] for record in records}


def facts(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.nightly
def test_a_repeated_search_runs_nothing_and_more_trials_continue_it(
    in_process: InProcess, reviews: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["search", "reviews.csv", "space.toml", f"model={tiny_bert}", "--seeds", "2", "--test-share", "0.2"]
    code, out, err = in_process(*command, "--trials", "3", data="")
    assert code == 0, err
    *_, sentence = out.splitlines()
    assert sentence.startswith("best of 3 trials: train.learning_rate=")
    assert "optimism of the best of 3" in sentence and "held out" in sentence
    assert len(scores(reviews / "results")) == 6
    best = (reviews / "best.toml").read_text()

    def never(*_: Any, **__: Any) -> RunRecord:
        raise AssertionError("a finished run is trained again")

    with monkeypatch.context() as patch:
        patch.setattr("finetune.training.run_many.run", never)
        patch.setattr("finetune.commands.search.winner._scores", never)
        code, again, err = in_process(*command, "--trials", "3", data="")
    assert (code, again, (reviews / "best.toml").read_text()) == (0, out, best)
    code, more, err = in_process(*command, "--trials", "5", "--json", "--force", data="")
    assert code == 0, err
    assert len(scores(reviews / "results")) == 10
    code, whole, err = in_process(*command, "--trials", "5", "--json", "--force", "--out", "other", data="")
    assert facts(whole)["trials"] == facts(more)["trials"]
    assert scores(reviews / "other") == scores(reviews / "results")
    code, _, err = in_process("search", "reviews.csv", "space.toml", "train.warmup=0.2", data="")
    assert code == 2
    assert_error(err, "best.toml already exists")
    recipe = finetune.train("best.toml", out=reviews / "again", seeds=1)
    assert {"held_out": recipe.record.recipe["held_out"]["share"]} == {"held_out": 0.0}


@pytest.mark.nightly
def test_a_killed_search_gives_the_trials_of_an_undisturbed_one(reviews: Path, tiny_bert: Path) -> None:
    command = [
        *(sys.executable, "-m", "finetune", "search", "reviews.csv", "space.toml", f"model={tiny_bert}"),
        *("--trials", "8", "--seeds", "2", "--prune", "halving", "--json", "--force"),
    ]

    def started(out: str) -> subprocess.Popen[str]:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [*command, "--out", out], cwd=reviews, env=environment, text=True, stdout=subprocess.PIPE
        )

    undisturbed, _ = started("calm").communicate(timeout=300)
    for number in (3, 7, 11):
        process = started("killed")
        while len(list(reviews.glob("killed/*/*/events.jsonl"))) < number and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed, _ = started("killed").communicate(timeout=300)
    assert facts(resumed) == facts(undisturbed)
    assert scores(reviews / "killed") == scores(reviews / "calm")


@pytest.mark.nightly
def test_runs_that_fit_are_told_and_unfinished_ones_come_first(reviews: Path, tiny_bert: Path) -> None:
    (reviews / "grid.toml").write_text(
        f'task = "reviews.csv"\nmodel = "{tiny_bert}"\nmax_length = 64\n[train]\nselect = "best"\npatience = 2\n'
    )
    settings: dict[str, Any] = {"train.batch_size": 16, "train.learning_rate": 2e-3}
    finetune.train("grid.toml", seeds=2, **settings, **{"train.epochs": 2})
    finetune.train("grid.toml", seeds=2, **settings, **{"train.epochs": 9})  # outside the space
    stopped = finetune.train("grid.toml", **settings, **{"train.epochs": 3})
    (stopped.folder / "record.json").unlink()
    found = finetune.search("grid.toml", space="space.toml", trials=3, seeds=2)
    first, second, third = found.found
    assert (first.known, first.settings["train.epochs"]) == (True, 2)
    assert (second.known, dict(second.settings)) == (False, {**settings, "train.epochs": 3})
    assert not third.known
    assert stopped.id in {record.id for record in second.records}
    repeated = finetune.search("grid.toml", space="space.toml", trials=3, seeds=2)
    assert [dict(trial.settings) for trial in repeated.found] == [dict(trial.settings) for trial in found.found]
    frame = found.trials
    assert list(frame.columns) == [*found.space, "mean", "sd", "n", "pruned_at", "failure"]
    assert frame["mean"].is_monotonic_decreasing and set(frame["n"]) == {2}
    assert found.best.train.epochs == dict(found.winner.settings)["train.epochs"]
    assert {record.id for record in found.run.records} == {record.id for record in found.winner.records}


@pytest.mark.slow
def test_the_worse_half_of_a_grid_stops_after_an_epoch(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text('task = "rte"\n[grid]\n"train.learning_rate" = [2e-3, 1e-7, 1e-9, 1e-3]\n')
    settings = ["mine.toml", f"model={tiny_bert}", "train.epochs=2", "--seeds", "2", "--prune", "halving", "--json"]
    code, out, err = in_process("search", *settings, data=rte)
    assert code == 0, err
    trials = facts(out)["trials"]
    stopped = {trial["train.learning_rate"] for trial in trials if trial["pruned_at"] == 1}
    assert len(trials) == 4
    assert stopped and stopped <= {1e-7, 1e-9}
    assert facts(out)["best"]["train.learning_rate"] in (2e-3, 1e-3)
    finished = {record["id"] for record in map(json.loads, (f.read_text() for f in tmp_path.glob("**/record.json")))}
    for folder in (tmp_path / "results" / "rte").iterdir():
        if folder.is_dir():
            events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
            epochs = [event for event in events if event["event"] == "epoch"]
            assert len(epochs) == (2 if folder.name in finished else 1)
    pruned = next(file for file in tmp_path.glob("results/rte/*/checkpoints")).parent
    (pruned / ".holder").write_text("a process that was killed as it paused this run")
    assert in_process("search", *settings, data=rte)[1] == out
    assert not (pruned / ".holder").exists()
    other = ["mine.toml", f"model={tiny_bert}", "train.epochs=2", "--seeds", "1", "--trials", "2", "--force"]
    assert in_process("search", *other, data=rte)[0] == 0
    searches = [json.loads(file.read_text()) for file in tmp_path.glob("results/rte/search-*.json")]
    assert [search["unfinished"] for search in searches] == [[], []]  # pruned runs are not taken for interrupted ones


def test_a_trial_that_diverges_is_listed_and_not_trained_again(
    in_process: InProcess, reviews: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reviews / "space.toml").write_text("train.learning_rate = [1e-3, 2e-3]")
    tried = []

    def diverging(resolved: ResolvedRun, options: RunOptions, **given: Any) -> RunRecord:
        from finetune.inference.feature_batches import Diverged

        tried.append(resolved.recipe.train.learning_rate)
        if resolved.recipe.train.learning_rate == 1e-3:
            raise Diverged("the loss is nan", "Lower train.learning_rate")
        return run(resolved, options, **given)

    monkeypatch.setattr("finetune.training.run_many.run", diverging)
    command = ["search", "reviews.csv", "space.toml", f"model={tiny_bert}", "train.epochs=1", "--seeds", "1"]
    code, out, err = in_process(*command, data="")
    assert (code, tried) == (0, [1e-3, 2e-3]), err
    assert "1 trial failed: reviews: the loss is nan" in out
    assert in_process(*command, data="")[:2] == (0, out)
    assert tried == [1e-3, 2e-3]


def test_a_search_whose_first_trials_all_fail_stops(
    in_process: InProcess, reviews: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> RunRecord:
        raise OSError("the disk is full")

    monkeypatch.setattr("finetune.training.run_many.run", full)
    code, _, err = in_process("search", "reviews.csv", "space.toml", f"model={tiny_bert}", "--seeds", "1", data="")
    assert code == 2
    assert_error(err, "first 3 trials failed", "the disk is full")


@pytest.mark.nightly
def test_nested_folds_score_the_search_on_rows_that_chose_nothing(reviews: Path, tiny_bert: Path) -> None:
    found: Search = finetune.search(
        "reviews.csv", space={"train.epochs": [1, 2]}, model=tiny_bert, trials=2, seeds=1, folds=2
    )
    assert found.held_out is not None and (found.held_out.folds, found.held_out.summary.n) == (2, 2)
    assert "a search like this scores" in found.sentence and "2 folds" in found.sentence
    assert found.optimism is None and "unknown with one seed" in found.sentence
    assert len(scores(reviews / "results")) == 2 + 2 * 2


@pytest.mark.nightly
def test_the_papers_grid_is_compared_only_where_its_runs_are_there(reviews: Path, tiny_bert: Path) -> None:
    space: dict[str, Any] = {"train.learning_rate": [5e-5, 1e-9], "train.batch_size": [16, 32], "train.epochs": [2, 3]}
    found = finetune.search("reviews.csv", space=space, model=tiny_bert, trials=1, seeds=1, limit=40)
    (note,) = [note for note in found.notes if "grid" in note]
    assert "not known: 1 of its 18 settings" in note or "not known: 0 of its 18 settings" in note
    assert f"finetune run reviews.csv model={tiny_bert} limit=40 preset=paper-grid --seeds 1" in note
    finetune.train("reviews.csv", model=tiny_bert, preset="paper-grid", limit=40)
    found = finetune.search("reviews.csv", space=space, model=tiny_bert, trials=8, seeds=1, limit=40)
    (note,) = [note for note in found.notes if "grid" in note]
    assert note.startswith("the paper's grid does as well") and "best of 18 settings" in note


def test_wrong_input_is_one_line(in_process: InProcess, reviews: Path, tiny_bert: Path) -> None:
    for arguments, words in (
        (["reviews.csv", "fine-tunig"], ["fine-tunig", "Did you mean 'fine-tuning'"]),
        (["reviews.csv", "space.toml", "train.epochs=2"], ["train.epochs", "set too"]),
        (["glue-rte", "space.toml", "preset=paper-grid"], ["[grid]", "space"]),
        (["reviews.csv", "space.toml", "third"], ["3 names"]),
        (["reviews.csv", "space.toml", "--test-share", "0.2", "--folds", "2"], ["exclude"]),
        (["reviews.csv", "space.toml", "--test-share", "2"], ["`--test-share` is 2"]),
        (["reviews.csv", "space.toml", "--prune", "medain"], ["medain"]),
        (["reviews.csv", "space.toml", "--on", "ray"], ["'search --on' was taken out"]),
        (["reviews.csv", "space.toml", "-o", "reviews.csv"], ["reviews.csv", ".toml"]),
    ):
        code, _, err = in_process("search", *arguments, f"model={tiny_bert}", data="")
        assert code == 2
        assert_error(err, *words)


def test_a_package_that_is_absent_is_named(
    in_process: InProcess, reviews: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = in_process("search", "reviews.csv", "space.toml", f"model={tiny_bert}", data="")
    assert code == 2
    assert_error(err, "pip install 'bert-finetune[search]'")
    assert not (reviews / "results").exists()
