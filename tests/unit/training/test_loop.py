"""The loop: stopped, resumed and killed to the same bits; its checkpoints; and which epoch's weights it keeps."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.cli import installed
from support.toys import cat_task
from support.training import CPU, Losses, Scored, build, unscored

from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.models.kernels import cpu
from finetune.models.model_folder import load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs import process
from finetune.runs.events import EpochDone, EpochResult, Event, Updates, unwatched
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Checkpoints, Progress

SETTINGS = Train(learning_rate=1e-3, epochs=2, batch_size=4, select="best")  # 32 updates, with dropout


@pytest.fixture(autouse=True)
def as_a_command() -> Iterator[None]:
    """A program that only imports the package keeps its own SIGTERM."""
    with installed():
        yield


def dropped(features: Sequence[Feature], generator: np.random.Generator) -> list[Feature]:
    """The features with a random half of their tokens replaced by token 5."""
    found = []
    for feature in features:
        ids = np.asarray(feature.input_ids)
        found.append(replace(feature, input_ids=np.where(generator.random(len(ids)) < 0.5, 5, ids).tolist()))
    return found


class Signals:
    """A watcher that sends this process signals after an update, or at the end of an epoch."""

    def __init__(self, *numbers: int, update: int = 0, epoch: int = 0) -> None:
        self.numbers, self.update, self.epoch = numbers, update, epoch
        self.losses = Losses()

    def __call__(self, event: Event) -> None:
        self.losses(event)
        if (isinstance(event, Updates) and event.update == self.update) or (
            isinstance(event, EpochDone) and event.result.epoch == self.epoch
        ):
            for number in self.numbers:
                os.kill(os.getpid(), number)


def trained(folder: Path, settings: Train, *, draw: Any = None, **given: Any) -> tuple[Any, list[torch.Tensor]]:
    trainer, features = build(cat_task(), folder, settings, **given)
    if draw:
        trainer.draw = draw
    trainer.fit(features, lambda engine: Scored(headline=float(np.mean(engine.logits(features)))))
    return trainer, list(trainer.model.state_dict().values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "settings", "more"),
    [
        (Signals(signal.SIGTERM, update=10), SETTINGS, {}),
        (Signals(signal.SIGINT, update=26), SETTINGS, {"freeze_layers": 1}),
        (Signals(signal.SIGTERM, epoch=1), SETTINGS, {"lora": 2, "lora_dropout": 0.1}),
        (Signals(signal.SIGTERM, epoch=2), SETTINGS, {"frozen": True}),
        (Signals(signal.SIGINT, signal.SIGINT, update=9), Train(updates=23, batch_size=4), {"draw": dropped}),
    ],
    ids=["update", "frozen-layer", "lora", "frozen-epoch", "twice"],
)
def test_a_signal_saves_and_the_run_resumes_to_the_same_bits(
    signals: Signals, settings: Train, more: dict[str, Any], tiny_bert: Path, tmp_path: Path
) -> None:
    """A terminal sends Ctrl-C to the whole group, and torchrun then once more to each process: it is one request."""
    handlers = [signal.getsignal(each) for each in process.SIGNALS]
    whole, after = Losses(), Losses()
    _, expected = trained(tiny_bert, settings, watch=whole, **more)
    with pytest.raises(process.Interrupted) as stopped:
        trained(tiny_bert, settings, watch=signals, checkpoint=tmp_path, **more)
    done = len(signals.losses.values)
    assert stopped.value.exit_code == 128 + signals.numbers[0]
    assert str(stopped.value).endswith(f"after update {done}, with a checkpoint")
    assert done - (signals.update or 16 * signals.epoch) in (0, 1)  # it stops with the next update
    trainer, found = trained(tiny_bert, settings, watch=after, checkpoint=tmp_path, **more)
    assert signals.losses.values + after.values == whole.values
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))
    assert [signal.getsignal(each) for each in process.SIGNALS] == handlers
    saved = torch.load(max(tmp_path.iterdir()))["parts"]  # what is trained and its moments alone
    names = {name for name, p in trainer.model.named_parameters() if p.requires_grad}
    assert saved["model"].keys() >= names and len(saved["optimizer"]["state"]) == len(names)
    assert saved["model"].keys() == names or not more or "draw" in more


def test_a_signal_while_dev_is_predicted_is_not_lost_and_the_epoch_is_scored_when_resumed(
    tiny_bert: Path, tmp_path: Path
) -> None:
    trainer, features = build(cat_task(), tiny_bert, SETTINGS, checkpoint=tmp_path)

    def evaluate(engine: Engine) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return engine.logits(features)

    with pytest.raises(process.Interrupted, match="after update 16, with a checkpoint"):
        trainer.fit(features, evaluate)
    trainer, features = build(cat_task(), tiny_bert, SETTINGS, checkpoint=tmp_path)
    progress, _ = trainer.fit(features, unscored)
    assert ([done.epoch for done in progress.epochs], progress.update) == ([1, 2], 32)


def test_a_run_that_lost_patience_does_not_train_on_when_it_is_resumed(tiny_bert: Path, tmp_path: Path) -> None:
    for _ in range(2):
        trainer, features = build(cat_task(), tiny_bert, Train(epochs=9, patience=1), checkpoint=tmp_path)
        assert len(trainer.fit(features, unscored)[0].epochs) == 2


def test_what_is_scored_is_what_is_saved(tiny_bert: Path, tmp_path: Path) -> None:
    """In half precision the logits of LoRA next to the weights differ from those of the merged weights."""
    pytest.importorskip("peft", reason="needs the extra `lora`")
    trainer, features = build(cat_task(), tiny_bert, Train(learning_rate=3e-2, epochs=2), lora=4)
    engine = replace(trainer.engine, accelerator=build_accelerator(CPU, "bf16"))
    scored: list[np.ndarray] = []
    replace(trainer, engine=engine).fit(
        features, lambda engine: scored.append(np.stack(engine.logits(features))) or unscored(engine)
    )
    save_checkpoint(trainer.model, tmp_path, load_tokenizer(tiny_bert), {"task": "toy-cats"})
    saved = load_trained(tmp_path, cat_task().head)
    cpu.speed_up(saved, saved.backbone.encoder)
    logits, unmerged = (np.stack(one.logits(features)) for one in (replace(engine, model=saved), engine))
    assert np.abs(logits - scored[-1]).mean() < 0.1 * np.abs(unmerged - scored[-1]).mean()


class Part:
    """Something with a state, like an optimizer."""

    def __init__(self, value: float = 0.0) -> None:
        self.values = torch.full((1_000,), value)

    def state_dict(self) -> dict[str, Any]:
        return {"values": self.values}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.values = state["values"]


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(folder=tmp_path / "checkpoints")


def saved(checkpoints: Checkpoints, *updates: int) -> list[Path]:
    """Saves after these updates; the files that are kept, the latest first."""
    for update in updates:
        checkpoints.save({"part": Part(update)}, Progress(update=update))
    return sorted(checkpoints.folder.iterdir(), reverse=True)


def restored(checkpoints: Checkpoints) -> tuple[int | None, float, list[str]]:
    """(update, value of the part, notes)."""
    part, notes = Part(), list[str]()
    progress = checkpoints.restore({"part": part}, lambda event: notes.append(event.text))  # type: ignore[attr-defined]
    return None if progress is None else progress.update, float(part.values[-1]), notes


def test_the_last_two_checkpoints_are_kept_and_all_of_the_last_is_used(checkpoints: Checkpoints) -> None:
    assert [file.name[:9] for file in saved(checkpoints, 1, 9, 10, 200)] == ["00000200-", "00000010-"]
    assert restored(checkpoints) == (200, 200.0, [])
    result = EpochResult(epoch=1, loss=0.5, headline=0.25, scores={"dev": {"f1": 0.25}})
    progress = Progress(
        update=207, epochs=[result], losses=[0.1, 1 / 3], seconds=1.5, best_epoch=1,
        best_weights={"w": torch.ones(2)}, parts=[(3, 4)], notes=["out of memory"],
    )  # fmt: skip
    checkpoints.save({"part": Part()}, progress)
    found = checkpoints.restore({"part": Part()}, unwatched)
    assert found is not None
    assert torch.equal(found.best_weights.pop("w"), progress.best_weights.pop("w"))  # type: ignore[union-attr]
    assert found == progress
    (checkpoints.folder / ".files.0123456789abcdef.tmp").mkdir()  # which could not be removed before
    checkpoints.delete()
    assert not checkpoints.folder.exists()
    assert restored(checkpoints) == (None, 0.0, [])


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "not a file"])
def test_a_damaged_checkpoint_is_skipped_with_a_note(damage: str, checkpoints: Checkpoints) -> None:
    latest, first = saved(checkpoints, 10, 20)
    content = bytearray(latest.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    latest.unlink()
    if damage == "not a file":
        latest.mkdir()
    else:
        latest.write_bytes({"cut": content[:middle], "empty": b"", "flipped": content}[damage])
    update, value, (note,) = restored(checkpoints)
    assert (update, value) == (10, 10.0)
    assert str(latest) in note and "damaged checkpoint skipped" in note
    whole = first.read_bytes()  # torch itself reads most files with a flipped bit and gives other weights
    for place in range(0, len(whole), 997):
        first.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        update, value, notes = restored(checkpoints)
        assert (update, value, len(notes)) == (None, 0.0, 2)


def test_a_checkpoint_of_another_run_or_version_is_named(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save({"other": Part()}, Progress(update=1))
    with pytest.raises(UserError, match=r"is not a checkpoint of this run.*Remove .*checkpoints"):
        restored(checkpoints)
    saved(checkpoints, 10)
    monkeypatch.setattr("finetune.training.checkpoints.versions", lambda: {"torch": "0.1", "python": "2.7"})
    progress = checkpoints.restore({"part": Part()}, unwatched)
    assert progress is not None
    assert progress.notes == ["resumed after update 10 with other versions of torch, python"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device without space")
def test_a_full_disk_or_what_cannot_be_saved_keeps_the_one_before(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved(checkpoints, 10)
    with monkeypatch.context() as patched, pytest.raises(UserError, match=r"a checkpoint needs 0\.\d MB") as raised:
        patched.setattr(Path, "open", lambda file, mode="r", **_: open("/dev/full" if "w" in mode else file, mode))  # noqa: PTH123, SIM115
        saved(checkpoints, 20)
    assert raised.value.way_out == "Free space, and run the same command again, which resumes after update 10"
    part = Part()
    part.values = lambda: None  # type: ignore[assignment]
    with pytest.raises(Exception, match="pickle"):
        checkpoints.save({"part": part}, Progress(update=30))
    assert list(checkpoints.folder.iterdir()) == before
    assert restored(checkpoints) == (10, 10.0, [])
    with pytest.raises(UserError, match=r"checkpoints: cannot be written \(No such file or directory\)"):
        Checkpoints(folder=checkpoints.folder / "gone" / "checkpoints").save({"part": Part()}, Progress())
