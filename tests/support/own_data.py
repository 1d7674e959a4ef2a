"""A user's own data as the command line reads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.checks.all_checks import data_findings
from finetune.task_types import own_data
from finetune.task_types.task import Task


def own_task(data: str | Path, settings: Mapping[str, Any] | None = None) -> Task:
    """The task that `finetune run` trains. Raises UserError for data that `finetune check` calls an error."""
    task = own_data.own_task(str(data), dict(settings or {}))
    data_findings(task)
    return task
