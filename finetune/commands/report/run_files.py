"""What blocks of a report are about: the files of a run, a split of it, and all runs of the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from finetune.analysis.comparison import Comparison
from finetune.analysis.data_sizes import LearningCurve
from finetune.analysis.temperature import Temperature
from finetune.commands.report.blocks import WordWeight
from finetune.data.messages import so_many
from finetune.runs.events import logged
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import require_run
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


Group = Sequence[RunFiles]  # runs that differ only in seeds


@dataclass(frozen=True, kw_only=True)
class SplitView:
    """The predictions of a split, and the id of the split's section on the page.

    `budget` is how many bytes of the page its rows may take. `weights` has, by a row's id, what each of its words adds
    to the prediction, where that was computed.
    """

    view: View
    section: str
    budget: int
    temperature: Temperature | None = None
    weights: Mapping[str, Sequence[WordWeight]] = field(default_factory=dict)

    @property
    def rows_id(self) -> str:
        """The id of the element with the split's rows, which other blocks link to."""
        return f"{self.section}-rows"


@dataclass(frozen=True, kw_only=True)
class PageRuns:
    """The runs in order, those together that differ only in seeds, the learning curves, and the comparison of A and B.

    A learning curve's sizes are not compared as A and B.
    """

    runs: Sequence[RunFiles]
    groups: Sequence[Group]
    curves: Sequence[LearningCurve]
    comparison: Comparison | None


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


def read_losses(lines: Iterable[str]) -> tuple[list[tuple[int, float]], int]:
    """(update, loss) of the last training in a log, in order; and the number of lines that are not events, such as the
    last line of a killed run.

    A resumed run may have repeated some updates: the later ones count.
    """
    losses: dict[int, float] = {}
    damaged = 0
    for line in lines:
        event = logged(line)
        if event is None:
            damaged += 1
        elif event["event"] == "training":
            losses = {update: loss for update, loss in losses.items() if update <= event.get("done", 0)}
        elif event["event"] == "updates":
            last, found = event.get("update"), event.get("losses")
            if isinstance(last, int) and isinstance(found, list):
                losses |= dict(enumerate(found, start=last - len(found) + 1))
            else:
                damaged += 1
    return sorted(losses.items()), damaged
