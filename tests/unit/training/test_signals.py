"""SIGTERM and Ctrl-C: the first saves a checkpoint where nothing is half done, the second stops at once."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.signals import installed
from support.toys import cat_task
from support.training import Losses, build, fit

from finetune.inference.engine import Engine
from finetune.runs import process
from finetune.runs.events import EpochDone, Event, Updates
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Checkpoints

SETTINGS = Train(learning_rate=1e-3, epochs=2, batch_size=4, select="best")  # 32 updates, with dropout


class Signals:
    """A watcher that sends this process a signal after an update, or at the end of an epoch."""

    def __init__(self, number: int, *, update: int = 0, epoch: int = 0) -> None:
        self.number, self.update, self.epoch = number, update, epoch
        self.losses = Losses()

    def __call__(self, event: Event) -> None:
        self.losses(event)
        if isinstance(event, Updates) and event.update == self.update:
            os.kill(os.getpid(), self.number)
        if isinstance(event, EpochDone) and event.result.epoch == self.epoch:
            os.kill(os.getpid(), self.number)


def weights(trainer: Any) -> list[torch.Tensor]:
    return list(trainer.model.state_dict().values())


@pytest.fixture(autouse=True)
def as_a_command() -> Iterator[None]:
    """A program that only imports the package keeps its own SIGTERM: see tests/unit/commands/run/test_api.py."""
    with installed():
        yield


@pytest.fixture(scope="module")
def undisturbed(tiny_bert: Path) -> tuple[list[float], list[torch.Tensor], Any]:
    """Losses, weights and predictions of a run without signals."""
    losses = Losses()
    trainer, found, _ = fit(cat_task(), tiny_bert, SETTINGS, watch=losses)
    return losses.values, weights(trainer), found.answers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "at"),
    [
        (signal.SIGTERM, {"update": 10}),
        (signal.SIGINT, {"update": 26}),
        (signal.SIGTERM, {"epoch": 1}),
        (signal.SIGTERM, {"epoch": 2}),
    ],
    ids=str,
)
def test_a_signal_saves_and_the_run_resumes_to_the_same_bits(
    number: signal.Signals,
    at: dict[str, int],
    undisturbed: tuple[list[float], list[torch.Tensor], Any],
    tiny_bert: Path,
    tmp_path: Path,
) -> None:
    handlers = [signal.getsignal(each) for each in process.SIGNALS]
    expected_losses, expected_weights, expected_answers = undisturbed
    after, cut = Losses(), Signals(number, **at)
    with pytest.raises(process.Interrupted) as stopped:
        fit(cat_task(), tiny_bert, SETTINGS, watch=cut, checkpoint=tmp_path / "checkpoints")
    done = len(cut.losses.values)
    assert stopped.value.exit_code == 128 + number
    assert str(stopped.value).endswith(f"after update {done}, with a checkpoint")
    assert done - at.get("update", 16 * at.get("epoch", 0)) in (0, 1)  # it stops with the next update
    trainer, found, _ = fit(cat_task(), tiny_bert, SETTINGS, watch=after, checkpoint=tmp_path / "checkpoints")
    assert cut.losses.values + after.values == expected_losses
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(weights(trainer), expected_weights, strict=True))
    assert found.answers == expected_answers
    assert [signal.getsignal(each) for each in process.SIGNALS] == handlers


def test_a_signal_while_dev_is_predicted_is_not_lost(tiny_bert: Path, tmp_path: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, SETTINGS, checkpoint=tmp_path / "checkpoints")

    def evaluate(engine: Engine) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return engine.logits(features)

    with pytest.raises(process.Interrupted, match="after update 16, with a checkpoint"):
        trainer.fit(features, evaluate)


def test_a_second_signal_stops_at_once(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here while the checkpoint is written that the first one asked for."""
    monkeypatch.setattr(process, "SAME", 0.0)
    trainer, features = build(cat_task(), tiny_bert, SETTINGS)
    trainer.checkpoints = Checkpoints(folder=tmp_path / "checkpoints")
    write = torch.save

    def slow(*given: Any) -> None:
        write(*given)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("finetune.training.checkpoints.torch.save", slow)
    trainer.engine.__dict__["watch"] = Signals(signal.SIGINT, update=15)
    with pytest.raises(process.Interrupted) as stopped:
        trainer.fit(features, lambda _: None)
    assert str(stopped.value) == "stopped by Ctrl-C"
    assert list((tmp_path / "checkpoints").iterdir()) == []


def assert_two_signals_are_one_request(encoder: Path, folder: Path) -> None:
    """Both come after the same update."""
    trainer, features = build(cat_task(), encoder, SETTINGS, checkpoint=folder)
    once = Signals(signal.SIGINT, update=15)

    def twice(event: Event) -> None:
        once(event)
        once(event)

    trainer.engine.__dict__["watch"] = twice
    with pytest.raises(process.Interrupted, match="with a checkpoint"):
        trainer.fit(features, lambda _: None)


def test_a_signal_that_a_launcher_repeats_is_one_request(tiny_bert: Path, tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to the whole group, and torchrun then once more to each process."""
    assert_two_signals_are_one_request(tiny_bert, tmp_path / "checkpoints")
