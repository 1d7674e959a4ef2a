"""A user's own data as the command line reads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from finetune.checks.all_checks import data_findings
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types import own_data
from finetune.task_types.task import Task


def own_task(data: str | Path, settings: Mapping[str, Any] | None = None) -> Task:
    """The task that `finetune run` trains. Raises UserError for data that `finetune check` calls an error."""
    task = own_data.own_task(str(data), dict(settings or {}))
    data_findings(task)
    return task


def rows_of(data: str | Path, settings: Mapping[str, Any] | None = None) -> list[Any]:
    """The rows for training and for dev in the order of the file."""
    task = own_task(data, settings)
    rows = [row for split in ("train", "dev") for row in task.load(Source(), split).rows]
    return sorted(rows, key=lambda row: (len(row.id), row.id))


def offered(data: str | Path, settings: Mapping[str, Any] | None = None) -> list[str]:
    """The settings that the question about the data offers."""
    with pytest.raises(UserError) as caught:
        own_task(data, settings)
    error: Any = caught.value
    return [setting for setting, _ in error.choices]
