"""Resolves the task of a finished run from its files: no weights are needed, and no code named there is run."""

import json
from pathlib import Path
from typing import Any

from finetune.data.paths import is_file, read_small
from finetune.errors import UserError, first_line
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record
from finetune.task_types import registry
from finetune.task_types.task import Task
from finetune.task_types.types import layout_from, trained_task

MOST_BYTES = 100_000_000  # of a config.json, which names every label


def trained_on(folder: RunFolder, *, task: Task | None = None) -> Task:
    """The task of a finished run, with or without the weights available; `task` is the one that the user named for it.

    Raises UserError where the task is unknown here, or differs.
    """
    file = folder.model / "config.json"
    settings = _settings(file) if is_file(file) else {}
    record = load_record(folder.record_file)
    if task is not None and task.name != record.task:
        raise UserError(f"{folder.path} is of {record.task}, not of {task.name}", "Name its own task")
    if task is not None:
        return task
    if "layout" in settings:
        return trained_task(layout_from(settings["layout"]), name=settings.get("task", record.task))
    return named_by(str(folder.path), settings.get("task", record.recipe["task"]))


def _settings(config: Path) -> dict[str, Any]:
    """What the run saved in the model's config. Raises UserError where it is damaged."""
    try:
        settings = json.loads(read_small(config, most=MOST_BYTES)).get("finetune", {})
        if isinstance(settings, dict) and isinstance(settings.get("task", ""), str):
            return settings
        reason = "its settings are not those of a run"
    except (ValueError, AttributeError, RecursionError) as error:
        reason = first_line(error)
    raise UserError(f"{config}: cannot be parsed ({reason})", "Run it again with `force`")


def named_by(folder: str, name: str) -> Task:
    """The task that the files of a model or a run name. Raises UserError for one in a file, which would run code."""
    if registry.in_file(name):
        raise UserError(
            f"{folder}: its task {name} is code, which is not run unless you name it",
            "If you trust that file, give its name with `task`",
        )
    return registry.installed_task(name)
