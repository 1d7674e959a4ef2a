"""Training checkpoints: written after each epoch and every few minutes, deleted when the run is done."""

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from finetune.data.atomic import scratch_file
from finetune.errors import UserError, first_line
from finetune.runs.events import EpochResult

EVERY_SECONDS = 300.0


@dataclass
class Progress:
    """Training progress, and the best weights so far if `select` is `best`."""

    update: int = 0
    epochs: list[EpochResult] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    best_epoch: int = 0
    best_weights: dict[str, torch.Tensor] | None = None

    @property
    def selected_epoch(self) -> int:
        """The epoch whose weights are kept."""
        return len(self.epochs) if self.best_weights is None else self.best_epoch

    @property
    def best(self) -> float | None:
        """The best headline score so far."""
        return self.epochs[self.best_epoch - 1].headline if self.best_epoch else None


class Checkpoints:
    """One file in the run's folder, written atomically, so that a crash at any moment leaves a readable one."""

    def __init__(self, file: Path, *, writes: bool = True) -> None:
        self.file = file
        self.writes = writes  # with several processes, only one does
        self.saved_at = time.monotonic()

    def save(self, parts: dict[str, Any], progress: Progress) -> None:
        """Writes the state of each part (model, optimizer, schedule) and the progress."""
        self.saved_at = time.monotonic()
        if not self.writes:
            return
        states = {name: part.state_dict() for name, part in parts.items()}
        with scratch_file(self.file) as scratch:
            torch.save({"parts": states, "progress": asdict(progress)}, scratch)

    def save_if_due(self, parts: dict[str, Any], progress: Progress) -> None:
        """Saves if the last checkpoint is older than EVERY_SECONDS."""
        if time.monotonic() - self.saved_at > EVERY_SECONDS:
            self.save(parts, progress)

    def restore(self, parts: dict[str, Any]) -> Progress | None:
        """Restores each part and returns the progress; None without a checkpoint.

        Raises UserError for a file that is damaged or of another model.
        """
        if not self.file.is_file():
            return None
        try:
            saved = torch.load(self.file, map_location="cpu", weights_only=True)
            for name, part in parts.items():
                part.load_state_dict(saved["parts"][name])
            epochs = [EpochResult(**each) for each in saved["progress"].pop("epochs")]
            progress = Progress(epochs=epochs, **saved["progress"])
        except (UnpicklingError, RuntimeError, KeyError, TypeError, EOFError, OSError, ValueError) as error:
            raise UserError(
                f"{self.file}: is not a checkpoint of this run ({first_line(error)})", "Start again with --force"
            ) from error
        return progress
