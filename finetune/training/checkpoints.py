"""Checkpoints of a run under way: written at the end of each epoch and every few minutes, gone when the run is done."""

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from finetune.data.atomic import scratch_file
from finetune.errors import UserError, first_line

EVERY_SECONDS = 300.0


@dataclass
class Progress:
    """How far training has come, and the best weights so far where those are wanted."""

    update: int = 0
    epochs: list[dict[str, Any]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    best_epoch: int = 0
    best_weights: dict[str, torch.Tensor] | None = None

    @property
    def selected_epoch(self) -> int:
        """The epoch whose weights the model has at the end."""
        return len(self.epochs) if self.best_weights is None else self.best_epoch

    @property
    def best(self) -> float | None:
        """The best headline score so far."""
        return self.epochs[self.best_epoch - 1]["headline"] if self.best_epoch else None


class Checkpoints:
    """One file in the run's folder, replaced as a whole, so that a crash at any moment leaves a readable one."""

    def __init__(self, file: Path, *, writes: bool = True) -> None:
        self.file = file
        self.writes = writes  # in a run of several processes, one does
        self.saved_at = time.monotonic()

    def save(self, parts: dict[str, Any], progress: Progress) -> None:
        """Writes the state of each part (model, optimizer, schedule) and how far training has come."""
        self.saved_at = time.monotonic()
        if not self.writes:
            return
        states = {name: part.state_dict() for name, part in parts.items()}
        with scratch_file(self.file) as scratch:
            torch.save({"parts": states, "progress": asdict(progress)}, scratch)

    def save_if_due(self, parts: dict[str, Any], progress: Progress) -> None:
        """The same when the last one is minutes old."""
        if time.monotonic() - self.saved_at > EVERY_SECONDS:
            self.save(parts, progress)

    def restore(self, parts: dict[str, Any]) -> dict[str, Any] | None:
        """Puts the parts back as they were saved and returns the progress; None where nothing was saved.

        Raises UserError for a file that is damaged or of another model.
        """
        if not self.file.is_file():
            return None
        try:
            saved = torch.load(self.file, map_location="cpu", weights_only=True)
            for name, part in parts.items():
                part.load_state_dict(saved["parts"][name])
            progress: dict[str, Any] = saved["progress"]
        except (UnpicklingError, RuntimeError, KeyError, EOFError, OSError, ValueError) as error:
            raise UserError(
                f"{self.file}: is no checkpoint of this run ({first_line(error)})", "Begin anew with --force"
            ) from error
        return progress
