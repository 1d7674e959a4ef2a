"""SIGTERM and Ctrl-C: the first saves a checkpoint where nothing is half done, the second stops at once."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import Losses, build, fit

from finetune.inference.engine import Engine
from finetune.runs import interrupts
from finetune.runs.events import EpochDone, Event, Updates
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Checkpoints

SETTINGS = Train(learning_rate=1e-3, epochs=3, batch_size=2, select="best")  # 96 updates, with dropout


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


@pytest.mark.parametrize("number", interrupts.SIGNALS)
@pytest.mark.parametrize("at", [{"update": 10}, {"update": 52}, {"epoch": 1}, {"epoch": 2}, {"epoch": 3}], ids=str)
def test_a_signal_saves_and_the_run_resumes_to_the_same_bits(
    number: signal.Signals, at: dict[str, int], tiny_bert: Path, tmp_path: Path
) -> None:
    handlers = [signal.getsignal(each) for each in interrupts.SIGNALS]
    whole, after, cut = Losses(), Losses(), Signals(number, **at)
    expected, answers, _ = fit(cat_task(), tiny_bert, SETTINGS, watch=whole)
    with pytest.raises(interrupts.Interrupted) as stopped:
        fit(cat_task(), tiny_bert, SETTINGS, watch=cut, checkpoint=tmp_path / "checkpoints")
    done = len(cut.losses.values)
    assert stopped.value.exit_code == 128 + number
    assert str(stopped.value).endswith(f"after update {done}, with a checkpoint")
    assert done - at.get("update", 32 * at.get("epoch", 0)) in (0, 1)  # it stops with the next update
    trainer, found, _ = fit(cat_task(), tiny_bert, SETTINGS, watch=after, checkpoint=tmp_path / "checkpoints")
    assert cut.losses.values + after.values == whole.values
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(weights(trainer), weights(expected), strict=True))
    assert found.answers == answers.answers
    assert [signal.getsignal(each) for each in interrupts.SIGNALS] == handlers


def test_a_signal_while_dev_is_predicted_is_not_lost(tiny_bert: Path, tmp_path: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, SETTINGS, checkpoint=tmp_path / "checkpoints")

    def evaluate(engine: Engine) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return engine.logits(features)

    with pytest.raises(interrupts.Interrupted, match="after update 32, with a checkpoint"):
        trainer.fit(features, evaluate)


def test_a_second_signal_stops_at_once(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here while the checkpoint is written that the first one asked for."""
    trainer, features = build(cat_task(), tiny_bert, SETTINGS)
    trainer.checkpoints = Checkpoints(folder=tmp_path / "checkpoints")
    write = torch.save

    def slow(*given: Any) -> None:
        write(*given)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("finetune.training.checkpoints.torch.save", slow)
    trainer.engine.__dict__["watch"] = Signals(signal.SIGINT, update=10)
    with pytest.raises(interrupts.Interrupted) as stopped:
        trainer.fit(features, lambda _: None)
    assert str(stopped.value) == "stopped by Ctrl-C"
    assert list((tmp_path / "checkpoints").iterdir()) == []
