"""Loads a run's record, loss log and predictions for a report; lists missing files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune.data.messages import so_many
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import require_run
from finetune.runs.losses import read_losses
from finetune.runs.predictions import PredictionLine, read_lines
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.without_folders import without_folders
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """A finished run. `losses` are (update, loss); `predictions` has the lines of each split that was saved. The record
    names no folders.
    """

    folder: RunFolder
    record: RunRecord
    losses: Sequence[tuple[int, float]]
    predictions: Mapping[str, Sequence[PredictionLine]]
    missing: Sequence[str]

    @property
    def name(self) -> str:
        """Task and id."""
        return f"{self.record.task} {self.record.id}"


def find_folders(names: Sequence[str], out: Path) -> list[RunFolder]:
    """The runs named by folder, id or task, each once. Raises UserError for a name without a run."""
    found: dict[Path, RunFolder] = {}
    for name in names:
        folder = require_run(name, out)
        found.setdefault(folder.path.resolve(), folder)
    return list(found.values())


def read_run_files(folder: RunFolder) -> RunFiles:
    """Reads a run's files. Raises UserError for a damaged record or damaged predictions; missing files are listed."""
    record = load_record(folder.record_file)
    missing: list[str] = []
    losses: list[tuple[int, float]] = []
    if folder.events.is_file():
        lines = folder.events.read_text(encoding="utf-8", errors="replace").splitlines()
        losses, damaged = read_losses(lines)
        missing += [f"{so_many(damaged, 'line')} of {folder.events.name}, which cannot be read"] * bool(damaged)
    else:
        missing.append(f"{folder.events.name}, so there is no loss by update")
    predictions = {split: read_lines(folder, split) for split in record.scores if folder.predictions(split).is_file()}
    missing += [
        f"{folder.predictions(split).name}, so no rows of {split} are shown"
        for split in record.scores
        if split not in predictions
    ]
    return RunFiles(
        folder=folder, record=without_folders(record), losses=losses, predictions=predictions, missing=missing
    )


def view_of_run(run: RunFiles, split: str) -> View | None:
    """The view of the predictions of a split; None if there are none, or no type fits."""
    return split_view_of(run.record, run.folder, split, run.predictions.get(split, ()))
