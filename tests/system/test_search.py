"""`finetune search`: trials, resumed and continued; wrong input; the winner on held-out rows; best.toml."""

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
from support.runs import REVIEWS, as_csv

import finetune

SPACE = """\
train.learning_rate = { low = 1e-5, high = 1e-2, log = true }
train.epochs = { low = 1, high = 4 }
train.batch_size = [8, 16]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with reviews.csv and space.toml, in which commands run."""
    (tmp_path / "reviews.csv").write_text(as_csv(("text", "label"), *REVIEWS))
    (tmp_path / "space.toml").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(folder: Path) -> dict[str, Any]:
    """The scores of every record of a results folder, by id."""
    records = [json.loads(file.read_text()) for file in folder.glob("*/*/record.json")]
    return {record["id"]: record["scores"] for record in records}


@pytest.mark.nightly
def test_a_repeated_search_runs_nothing_and_more_trials_continue_it(
    in_process: InProcess, folder: Path, tiny_bert: Path
) -> None:
    command = ["search", "reviews.csv", "space.toml", f"model={tiny_bert}", "--seeds", "2", "--test-share", "0.2"]
    code, out, err = in_process(*command, "--trials", "3", data="")
    assert code == 0, err
    *_, sentence = out.splitlines()
    assert sentence.startswith("best of 3 trials: train.learning_rate=") and "held-out" in sentence
    assert len(scores(folder / "results")) == 6
    best, trained = (folder / "best.toml").read_text(), [*folder.glob("results/*/*/record.json")]
    times = [file.stat().st_mtime_ns for file in trained]
    code, again, err = in_process(*command, "--trials", "3", data="")
    assert (code, again, (folder / "best.toml").read_text()) == (0, out, best)
    assert [file.stat().st_mtime_ns for file in trained] == times
    code, more, err = in_process(*command, "--trials", "5", "--json", "--force", data="")
    assert code == 0, err
    assert len(scores(folder / "results")) == 10
    code, whole, err = in_process(*command, "--trials", "5", "--json", "--force", "--out", "other", data="")
    assert json.loads(whole)["trials"] == json.loads(more)["trials"]
    assert scores(folder / "other") == scores(folder / "results")
    again_run = finetune.run("best.toml", out=folder / "again", seeds=1)
    assert again_run.record.recipe["held_out"]["share"] == 0.0
    with (folder / "best.toml").open("a") as file:
        file.write("# mine\n")
    code, _, err = in_process(*command, "--trials", "5", data="")
    assert code == 2
    assert_error(err, "best.toml already exists")


@pytest.mark.nightly
def test_a_killed_search_gives_the_trials_of_an_undisturbed_one(folder: Path, tiny_bert: Path) -> None:
    command = [
        *(sys.executable, "-m", "finetune", "search", "reviews.csv", "space.toml", f"model={tiny_bert}"),
        *("--trials", "8", "--seeds", "2", "--json", "--force"),
    ]

    def started(out: str) -> subprocess.Popen[str]:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [*command, "--out", out], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE
        )

    undisturbed, _ = started("calm").communicate(timeout=300)
    for number in (3, 7, 11):
        process = started("killed")
        while len(list(folder.glob("killed/*/*/events.jsonl"))) < number and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed, _ = started("killed").communicate(timeout=300)
    assert json.loads(resumed) == json.loads(undisturbed)
    assert scores(folder / "killed") == scores(folder / "calm")


def test_a_package_that_is_absent_is_named(
    in_process: InProcess, folder: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = in_process("search", "reviews.csv", "space.toml", f"model={tiny_bert}", data="")
    assert (code, (folder / "results").exists()) == (2, False)
    assert_error(err, "pip install 'bert-finetune[search]'")
