"""`--discard-half`: runs of which the worse half is discarded early."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error

from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.training.run import run


def test_the_worse_half_is_discarded_early_and_can_go_on_later(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text('task = "rte"\n[grid]\n"train.learning_rate" = [2e-3, 1e-7]\n')
    settings = ["mine.toml", f"model={tiny_bert}", "train.epochs=8", "--seeds", "2", "--quiet"]
    code, out, err = in_process("run", *settings, "--discard-half", data=rte)
    assert (code, err) == (0, "")
    finished = sorted(file.parent.name for file in tmp_path.glob("results/rte/*/record.json"))
    assert len(finished) == 2
    assert all(name in out for name in finished)
    for name in finished:
        record = json.loads((tmp_path / "results" / "rte" / name / "record.json").read_text())
        assert record["recipe"]["train"]["learning_rate"] == 2e-3  # both seeds of the better setting
    for folder in (tmp_path / "results" / "rte").iterdir():
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
        epochs = [event for event in events if event["event"] == "epoch"]
        assert len(epochs) == (8 if folder.name in finished else 2)
        assert (folder / "checkpoints").exists() == (folder.name not in finished)
    again, _, _ = in_process("run", *settings, "--discard-half", data=rte)
    assert again == 0
    assert len(list(tmp_path.glob("results/rte/*/record.json"))) == 2
    code, _, _ = in_process("run", *settings, data=rte)
    assert code == 0
    assert len(list(tmp_path.glob("results/rte/*/record.json"))) == 4


def test_none_is_chosen_while_one_could_not_be_tried(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text('task = "rte"\n[grid]\n"train.learning_rate" = [2e-3, 1e-7]\n')
    settings = ["mine.toml", f"model={tiny_bert}", "train.epochs=4", "--quiet", "--discard-half"]

    def full(recipe: Recipe, **options: Any) -> RunRecord:
        if recipe.train.learning_rate == 2e-3:
            raise OSError("the disk is full")
        return run(recipe, **options)

    with monkeypatch.context() as patch:
        patch.setattr("finetune.training.executors.job.run", full)
        code, _, err = in_process("run", *settings, data=rte)
    assert code == 2
    assert_error(err, "the disk is full")
    assert list(tmp_path.glob("results/rte/*/record.json")) == []
    assert in_process("run", *settings, data=rte)[0] == 0
    (record,) = tmp_path.glob("results/rte/*/record.json")
    assert json.loads(record.read_text())["recipe"]["train"]["learning_rate"] == 2e-3


def test_discarding_needs_several_epochs_and_settings(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", "--seeds", "2", "--discard-half", data=rte)
    assert code == 2
    assert_error(err, "--discard-half", "settings")
    arguments: list[Any] = ["run", "glue-rte", f"model={tiny_bert}", "train.epochs=1", "--seeds", "2", "--discard-half"]
    code, _, err = in_process(*arguments, data=rte)
    assert code == 2
    assert_error(err, "--discard-half", "train.epochs")
