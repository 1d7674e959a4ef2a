"""Checkpoints of a run under way: written at the end of each epoch and every few minutes, gone when the run is done."""

import time
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import torch

from finetune.errors import UserError, first_line

if TYPE_CHECKING:
    from finetune.training.trainer import Progress

EVERY_SECONDS = 300.0


class Checkpoints:
    """One file in the run's folder, replaced as a whole, so that a crash at any moment leaves a readable one."""

    def __init__(self, file: Path, *, writes: bool = True) -> None:
        self.file = file
        self.writes = writes  # in a run of several processes, one does
        self.saved_at = time.monotonic()

    def save(self, parts: dict[str, Any], progress: "Progress") -> None:
        """Writes the state of each part (model, optimizer, schedule) and how far training has come."""
        self.saved_at = time.monotonic()
        if not self.writes:
            return
        states = {name: part.state_dict() for name, part in parts.items()}
        scratch = self.file.with_name(".checkpoint.tmp")
        torch.save({"parts": states, "progress": asdict(progress)}, scratch)
        scratch.replace(self.file)

    def save_if_due(self, parts: dict[str, Any], progress: "Progress") -> None:
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
