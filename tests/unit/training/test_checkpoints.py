"""Checkpoints: complete or not there, checked when they are read, and written seldom enough."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import build, unscored

from finetune.errors import UserError
from finetune.runs.events import EpochResult, Event, Note, unwatched
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.run_options import Saving


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

    def watch(event: Event) -> None:
        assert isinstance(event, Note)
        notes.append(event.text)

    progress = checkpoints.restore({"part": part}, watch)
    return None if progress is None else progress.update, float(part.values[-1]), notes


def test_the_last_two_are_kept_and_the_last_is_used(checkpoints: Checkpoints) -> None:
    assert [file.name[:9] for file in saved(checkpoints, 1, 9, 10, 200)] == ["00000200-", "00000010-"]
    assert restored(checkpoints) == (200, 200.0, [])
    (checkpoints.folder / ".files.0123456789abcdef.tmp").mkdir()  # which could not be removed before
    checkpoints.delete()
    assert not checkpoints.folder.exists()
    assert restored(checkpoints) == (None, 0.0, [])


def test_all_of_the_progress_comes_back(checkpoints: Checkpoints) -> None:
    result = EpochResult(epoch=1, loss=0.5, headline=0.25, scores={"dev": {"f1": 0.25}})
    progress = Progress(
        update=7, epochs=[result], losses=[0.1, 1 / 3], seconds=1.5, best_epoch=1,
        best_weights={"w": torch.ones(2)}, parts=[(3, 4)], notes=["out of memory"],
    )  # fmt: skip
    checkpoints.save({"part": Part()}, progress)
    found = checkpoints.restore({"part": Part()}, unwatched)
    assert found is not None
    assert torch.equal(found.best_weights.pop("w"), progress.best_weights.pop("w"))  # type: ignore[union-attr]
    assert found == progress


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "not a file"])
def test_a_damaged_one_is_skipped_with_a_note(damage: str, checkpoints: Checkpoints) -> None:
    latest, _ = saved(checkpoints, 10, 20)
    content = bytearray(latest.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    latest.unlink()
    if damage == "not a file":
        latest.mkdir()
    else:
        latest.write_bytes({"cut": content[:middle], "empty": b"", "flipped": content}[damage])
    update, value, notes = restored(checkpoints)
    assert (update, value) == (10, 10.0)
    (note,) = notes
    assert str(latest) in note
    assert "damaged checkpoint skipped" in note


def test_every_flipped_bit_is_noticed(checkpoints: Checkpoints) -> None:
    """torch itself reads most of such files and gives other weights."""
    (file,) = saved(checkpoints, 10)
    content = file.read_bytes()
    for place in range(0, len(content), 97):
        file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        update, value, notes = restored(checkpoints)
        assert (update, value, len(notes)) == (None, 0.0, 1)


def test_one_of_another_model_is_an_error(checkpoints: Checkpoints) -> None:
    checkpoints.save({"other": Part()}, Progress(update=1))
    with pytest.raises(UserError, match=r"is not a checkpoint of this run.*Remove .*checkpoints"):
        restored(checkpoints)


def test_other_versions_are_noted_in_the_record(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(checkpoints, 10)
    monkeypatch.setattr("finetune.training.checkpoints.versions", lambda: {"torch": "0.1", "python": "2.7"})
    progress = checkpoints.restore({"part": Part()}, unwatched)
    assert progress is not None
    assert progress.notes == ["resumed after update 10 with other versions of torch, python"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device without space")
def test_a_full_disk_is_one_line_and_keeps_the_one_before(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved(checkpoints, 10)
    with (
        monkeypatch.context() as patched,
        pytest.raises(UserError, match=r"the disk is full; a checkpoint needs 0\.\d MB") as raised,
    ):
        patched.setattr(Path, "open", lambda file, mode="r", **_: open("/dev/full" if "w" in mode else file, mode))  # noqa: PTH123, SIM115
        saved(checkpoints, 20)
    assert raised.value.way_out == "Free space, and run the same command again, which resumes after update 10"
    assert list(checkpoints.folder.iterdir()) == before
    assert restored(checkpoints) == (10, 10.0, [])


def test_a_folder_that_vanished_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"checkpoints: cannot be written \(No such file or directory\)"):
        Checkpoints(folder=tmp_path / "gone" / "checkpoints").save({"part": Part()}, Progress())


def test_what_torch_cannot_save_leaves_nothing(checkpoints: Checkpoints) -> None:
    part = Part()
    part.values = lambda: None  # type: ignore[assignment]
    with pytest.raises(Exception, match="pickle"):
        checkpoints.save({"part": part}, Progress())
    assert list(checkpoints.folder.iterdir()) == []


def test_they_are_written_after_minutes_unless_that_takes_too_long(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, written = [0.0], list[float]()
    monkeypatch.setattr("finetune.training.checkpoints.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoints, "_write", lambda *_: written.append(clock[0]))
    checkpoints.saved_at = 0.0

    def at(*times: float) -> None:
        for clock[0] in times:
            checkpoints.save_if_due({}, Progress())

    at(60.0, 119.0, 121.0, 180.0, 240.0, 242.0)
    assert written == [121.0, 242.0]
    checkpoints.took = 9.0  # 3 % of 300 seconds
    at(242.0 + 290.0, 242.0 + 301.0)
    assert written[2:] == [543.0]


@pytest.mark.parametrize("minutes", [math.nan, math.inf])
def test_minutes_after_which_none_would_ever_be_written_are_refused(minutes: float) -> None:
    with pytest.raises(UserError, match="minutes between checkpoints"):
        Saving(minutes=minutes)


def test_they_are_written_after_exactly_so_many_updates(tiny_bert: Path, tmp_path: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, Train(epochs=2, batch_size=4), checkpoint=tmp_path / "checkpoints")
    updates = []

    class Noted(Checkpoints):
        def save(self, parts: dict[str, Any], progress: Progress) -> None:
            updates.append(progress.update)
            super().save(parts, progress)

    trainer.checkpoints = Noted(folder=tmp_path / "checkpoints", saving=Saving(updates=7))
    trainer.fit(features, unscored)
    assert updates == [7, 14, 21, 28]
    assert min(file.name for file in (tmp_path / "checkpoints").iterdir()).startswith("00000021-")
