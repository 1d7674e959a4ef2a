"""The folder of a run of several tasks is a results folder itself: `RUN/TASK` names the run of one of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.errors import UserError, nearest
from finetune.runs.folder import RunFolder, folder_name
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records


def has_several_tasks(recipe: Mapping[str, Any]) -> bool:
    """Whether a record's recipe is one of several tasks together."""
    together = recipe.get("together")
    return isinstance(together, Mapping) and bool(together.get("tasks"))


def runs_of_tasks(folder: RunFolder) -> list[tuple[RunFolder, RunRecord]]:
    """The run of each task of a run of several, by name; empty for any other run, and where they were deleted."""
    if not has_several_tasks(load_record(folder.record_file).recipe):
        return []
    files = sorted(folder.path.glob("*/*/record.json"))
    return [(RunFolder(file.parent), record) for file, record in readable_records(files, load_record)]


def run_of_task(folder: RunFolder, task: str) -> RunFolder | None:
    """The run of a task in that of several; None for a folder of another run. Raises UserError for an unknown task."""
    found = runs_of_tasks(folder)
    if not found:
        return None
    one = next((run for run, record in found if task in (record.task, folder_name(record.task))), None)
    if one is None:
        names = [record.task for _, record in found]
        raise UserError(f"{folder.path} has no task '{task}'", f"{nearest(task, names)}It has {', '.join(names)}")
    return one


def require_one_task(name: str | Path, folder: RunFolder) -> None:
    """Raises UserError for a run of several tasks, of which each has its own model and predictions."""
    record = load_record(folder.record_file)
    if not has_several_tasks(record.recipe):
        return
    names = [f"{record.id}/{one.task}" for _, one in runs_of_tasks(folder)]
    raise UserError(f"{name} is a run of several tasks", f"Name one: {', '.join(names)}" if names else "Run it again")


def records_of_tasks(out: Path) -> Sequence[RunRecord]:
    """The record of each task of all runs of several under a results folder."""
    files = sorted(out.glob("*/*/*/*/record.json"))
    return [record for _, record in readable_records(files, load_record) if record.together is not None]
