"""Training checkpoints: the state from which an interrupted run resumes; deleted once the run is finished.

The name of a checkpoint holds its update and its checksum, so no second file is needed. The last two are kept: if one
is damaged, a run resumes from the other.
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
KEPT = 2  # checkpoints
FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of a full disk
NAME = re.compile(r"(\d{8})-([0-9a-f]{64})\.pt")


@dataclass
class Progress:
    """Training progress, and the best weights so far if `select` is `best`.

    `losses` are those of the current epoch's updates. `parts` has (update, number of parts of a batch from then on) for
    each time that memory ran out.
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

        Raises UserError if the disk is full or the folder cannot be written.
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
        """Saves where `saving` says that it is time."""
        if self.saving.updates is not None:
            due = progress.update % self.saving.updates == 0
        else:
            due = time.monotonic() - self.saved_at > max(60 * self.saving.minutes, self.took / SHARE_OF_TIME)
        if due:
            self.save(parts, progress)

    def until_due(self, update: int) -> int | None:
        """The updates until the next checkpoint; None where `saving` counts minutes."""
        return None if self.saving.updates is None else self.saving.updates - update % self.saving.updates

    def restore(self, parts: dict[str, Any], watch: Watcher) -> Progress | None:
        """Restores each part from the latest checkpoint and returns the progress; None without one.

        A damaged checkpoint is skipped with a note: the one before leads to the same result. Raises UserError for a
        checkpoint of another model, or of another version of finetune.
        """
        for file in self._files():
            try:
                saved = _load(file)
            except (OSError, ValueError, UnpicklingError, RuntimeError, EOFError) as error:
                watch(Note(f"{file}: damaged checkpoint skipped ({first_line(error)})"))
                continue
            return _restored(file, saved, parts)
        return None

    @property
    def exist(self) -> bool:
        """Whether there is one from which to resume."""
        return bool(self._files())

    def delete(self) -> None:
        """Deletes all checkpoints. Raises UserError for a symbolic link to another place."""
        require_no_links(self.folder)
        remove_scratch(self.folder)
        for file in self._files():
            file.unlink(missing_ok=True)
        with suppress(OSError):  # there is no folder, or it has other files
            self.folder.rmdir()

    def _files(self) -> list[Path]:
        """The checkpoints, the latest first."""
        return sorted((file for file in self.folder.glob("*.pt") if NAME.fullmatch(file.name)), reverse=True)

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

    After an error it only counts bytes: torch's writer cannot be stopped, and a message names the size that is needed.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.size = file, hashlib.sha256(), 0
        self.error: OSError | None = None

    def write(self, data: bytes | memoryview) -> int:
        """Writes and hashes bytes."""
        self.size += len(data)
        try:
            if self.error is None:
                self.file.write(data)
                self.digest.update(data)
        except OSError as error:
            self.error = error
        return len(data)

    def flush(self) -> None:
        """Flushes the file."""
        try:
            if self.error is None:
                self.file.flush()
        except OSError as error:
            self.error = error


def _load(file: Path) -> Any:
    """The content of a checkpoint. Raises ValueError where it differs from the checksum in its name."""
    if not file.name.endswith(f"-{sha256_of(file)}.pt"):
        raise ValueError("its checksum is not the one in its name")
    return torch.load(file, map_location="cpu", weights_only=True)


def _restored(file: Path, saved: Any, parts: dict[str, Any]) -> Progress:
    try:
        for name, part in parts.items():
            part.load_state_dict(saved["parts"][name])
        epochs = [EpochResult(**result) for result in saved["progress"].pop("epochs")]
        saved["progress"].pop("chances", None)  # of earlier versions
        progress = Progress(epochs=epochs, **saved["progress"])
        saved_versions = saved["versions"]
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{file}: is not a checkpoint of this run ({first_line(error)})", f"Remove {file.parent}, and run it again"
        ) from error
    if changed := [name for name, version in versions().items() if saved_versions.get(name) != version]:
        progress.notes.append(f"resumed after update {progress.update} with other versions of {', '.join(changed)}")
    return progress
