"""Training checkpoints: the state of training, from which an interrupted run resumes; deleted when the run is done.

A checkpoint's name holds its update and its checksum, so that writing and checking need no second file. The last two
are kept: where one is damaged, the one before is used.
"""

import errno
import hashlib
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, cast

import torch

from finetune.data.atomic import remove_scratch, require_no_links, scratch_folder
from finetune.data.checksums import sha256_of
from finetune.errors import UserError, first_line
from finetune.runs.events import EpochResult, Note, Watcher
from finetune.runs.process import versions
from finetune.training.run_options import EVERY_FEW_MINUTES, Saving

SHARE_OF_TIME = 0.03  # of the time of training, at most
KEPT = 2
FULL = (errno.ENOSPC, errno.EDQUOT)
NAME = re.compile(r"(\d{8})-([0-9a-f]{64})\.pt")


@dataclass
class Progress:
    """Training progress, and the best weights so far if `select` is `best`.

    `parts` are the numbers of parts of a batch after an update at which memory ran out.
    """

    update: int = 0
    epochs: list[EpochResult] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    best_epoch: int = 0
    best_weights: dict[str, torch.Tensor] | None = None
    parts: list[tuple[int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def selected_epoch(self) -> int:
        """The epoch whose weights are kept."""
        return len(self.epochs) if self.best_weights is None else self.best_epoch

    @property
    def best(self) -> float | None:
        """The best headline score so far."""
        return self.epochs[self.best_epoch - 1].headline if self.best_epoch else None


@dataclass(kw_only=True)
class Checkpoints:
    """The checkpoints of a run, in a folder."""

    folder: Path
    writes: bool = True  # with several processes, only one does
    saving: Saving = EVERY_FEW_MINUTES
    saved_at: float = field(default_factory=time.monotonic)
    took: float = 0.0  # seconds of the last one
    size: int = 0  # bytes of the last one

    def save(self, parts: dict[str, Any], progress: Progress) -> None:
        """Writes the state of each part (model, optimizer, schedule) and the progress.

        Raises UserError where the disk is full, or the folder cannot be written.
        """
        started = time.monotonic()
        if self.writes:
            states = {name: part.state_dict() for name, part in parts.items()}
            facts = {**vars(progress), "epochs": [asdict(done) for done in progress.epochs]}
            state = {"parts": states, "progress": facts, "versions": versions()}
            try:
                self._write(state, progress.update)
            except OSError as error:
                raise self._unwritable(error) from error
        self.saved_at = time.monotonic()
        self.took = self.saved_at - started

    def save_if_due(self, parts: dict[str, Any], progress: Progress) -> None:
        """Saves if it is time, as `saving` says."""
        if self.saving.updates is not None:
            due = progress.update % self.saving.updates == 0
        else:
            due = time.monotonic() - self.saved_at > max(60 * self.saving.minutes, self.took / SHARE_OF_TIME)
        if due:
            self.save(parts, progress)

    def until_due(self, update: int) -> int | None:
        """The number of updates from one to the next checkpoint, where that is counted in updates."""
        return None if self.saving.updates is None else self.saving.updates - update % self.saving.updates

    def restore(self, parts: dict[str, Any], watch: Watcher) -> Progress | None:
        """Restores each part and returns the progress; None without a checkpoint that can be used.

        One that is damaged is skipped with a note: the one before has less progress and leads to the same result.
        Raises UserError for one of another model or version of finetune.
        """
        for file in self._files():
            try:
                saved = _load(file)
            except (OSError, ValueError, UnpicklingError, RuntimeError, EOFError) as error:
                watch(Note(f"{file}: damaged checkpoint skipped ({first_line(error)})"))
                continue
            return _restored(file, saved, parts)
        return None

    def delete(self) -> None:
        """Deletes all checkpoints. Raises UserError where they are elsewhere, through a symbolic link."""
        require_no_links(self.folder)
        remove_scratch(self.folder)
        for file in self._files():
            file.unlink(missing_ok=True)
        with suppress(OSError):  # not there, or with files of others
            self.folder.rmdir()

    def _files(self) -> list[Path]:
        """The checkpoints, the latest first."""
        if not self.folder.is_dir():
            return []
        return sorted((file for file in self.folder.iterdir() if NAME.fullmatch(file.name)), reverse=True)

    def _write(self, state: dict[str, Any], update: int) -> None:
        with scratch_folder(self.folder) as scratch:
            file = scratch / "checkpoint"
            with file.open("wb") as opened:
                hashed = _Hashed(opened)
                torch.save(state, cast(IO[bytes], hashed))
                hashed.flush()
            self.size = hashed.size
            if hashed.error is not None:
                raise hashed.error
            file.rename(scratch / f"{update:08d}-{hashed.digest.hexdigest()}.pt")
        for old in self._files()[KEPT:]:
            old.unlink()

    def _unwritable(self, error: OSError) -> UserError:
        latest = next(iter(self._files()), None)
        again = f"resumes after update {int(latest.name[:8])}" if latest else "starts again"
        what, remedy = f"cannot be written ({error.strerror})", "Make it writable"
        if error.errno in FULL:
            need = f"; a checkpoint needs {self.size / 1e6:,.1f} MB" if self.size else ""
            what, remedy = f"the disk is full{need}", "Free space"
        return UserError(f"{self.folder}: {what}", f"{remedy}, and run the same command again, which {again}")


class _Hashed:
    """A file for torch.save that hashes what it writes.

    After an error it only counts, so that torch's writer ends and the size that is needed is known.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.size = file, hashlib.sha256(), 0
        self.error: OSError | None = None

    def write(self, data: bytes | memoryview) -> int:
        """Writes and hashes some bytes."""
        self.size += len(data)
        try:
            if self.error is None:
                self.file.write(data)
                self.digest.update(data)
        except OSError as error:
            self.error = error
        return len(data)

    def flush(self) -> None:
        """Writes what is buffered."""
        try:
            if self.error is None:
                self.file.flush()
        except OSError as error:
            self.error = error


def _load(file: Path) -> Any:
    """The content of a checkpoint. Raises ValueError where it differs from the checksum in its name."""
    match = NAME.fullmatch(file.name)
    if match is None or sha256_of(file) != match[2]:
        raise ValueError("its checksum is not the one in its name")
    return torch.load(file, map_location="cpu", weights_only=True)


def _restored(file: Path, saved: Any, parts: dict[str, Any]) -> Progress:
    try:
        for name, part in parts.items():
            part.load_state_dict(saved["parts"][name])
        epochs = [EpochResult(**each) for each in saved["progress"].pop("epochs")]
        saved["progress"].pop("chances", None)  # of earlier versions
        progress = Progress(epochs=epochs, **saved["progress"])
        then = saved["versions"]
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{file}: is not a checkpoint of this run ({first_line(error)})", f"Remove {file.parent}, and run it again"
        ) from error
    if changed := [name for name, version in versions().items() if then.get(name) != version]:
        progress.notes.append(f"resumed after update {progress.update} with other versions of {', '.join(changed)}")
    return progress
