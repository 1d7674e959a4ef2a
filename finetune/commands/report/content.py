"""What a page holds as plain data, which its template escapes; and what it is about: the files of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from finetune.runs.folder import RunFolder
from finetune.runs.lookup import require_run
from finetune.runs.record import RunRecord, without_folders
from finetune.runs.record_files import load_record
from finetune.task_types.predictions import Predictions
from finetune.task_types.saved_predictions import run_predictions

NAME = 40  # characters of a class or of a row's id


@dataclass(frozen=True, kw_only=True)
class Block:
    """A card of the page: a title, a note on how to read it, and its content. A `wide` one spans the page.

    `cells` are a table below `columns`: the first `left` are words, the others numbers. `rows` are as `filters` has
    them, which is JSON for the page's script.
    """

    title: str
    note: str = ""
    chart: Markup | None = None
    columns: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    left: int = 1
    matrix: Mapping[str, Any] | None = None
    points: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    filters: Mapping[str, Any] | None = None
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """Blocks under a heading, with a note. A `folded` one is closed until clicked."""

    id: str
    title: str
    blocks: Sequence[Block] = ()
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """A finished run, whose record names no folders. `tables` has the predictions of each split that was saved, None
    where they have no labels or no task type fits.
    """

    folder: RunFolder
    record: RunRecord
    tables: Mapping[str, Predictions | None]
    missing: Sequence[str]

    @property
    def name(self) -> str:
        """Task and id."""
        return f"{self.record.task} {self.record.id}"


def read_runs(names: Sequence[str], out: Path) -> list[RunFiles]:
    """The runs named by folder, id or task, each once. Raises UserError for a name without a run and damaged files."""
    folders = {folder.path.resolve(): folder for folder in (require_run(name, out) for name in names)}
    return [read_run_files(folder) for folder in folders.values()]


def read_run_files(folder: RunFolder) -> RunFiles:
    """Reads a run's files. Raises UserError for a damaged record or damaged predictions; missing files are listed."""
    record = without_folders(load_record(folder.record_file))
    files = {split: folder.predictions(split) for split in record.scores}
    existing = [split for split, file in files.items() if file.is_file()]
    return RunFiles(
        folder=folder, record=record, tables={split: run_predictions(record, folder, split) for split in existing},
        missing=[f"{files[split].name}, so no rows of {split} are shown" for split in files if split not in existing],
    )  # fmt: skip
