"""Predictions as lines of a file: the row's fields, label, prediction, probabilities and baselines; and rows again."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from finetune.data.rows import Row, row_fields
from finetune.errors import UserError
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

SLICE = "slice:"  # begins the names of columns that rows are grouped by


def prediction_lines(
    task: Task,
    rows: Sequence[Row],
    answers: Sequence[Answer],
    baselines: Mapping[str, Sequence[Answer]] = MappingProxyType({}),
    slices: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """One line per row: its fields, `gold`, `prediction`, `probabilities`, other fields of the prediction, baselines,
    and the values of other columns of the data (`slice:source`).
    """
    lines = []
    for index, (row, gold, answer) in enumerate(zip(rows, task.labels_of(rows), answers, strict=True)):
        line = row_fields(row) | {"gold": gold.value} | asdict(answer)
        line["prediction"] = line.pop("value")
        line |= {f"baseline:{name}": given[index].value for name, given in baselines.items()}
        line |= {f"{SLICE}{name}": values[index] for name, values in slices.items()}
        lines.append(line)
    return lines


def row_of_line(task: Task, line: Mapping[str, Any], folder: Path) -> Row:
    """The row that a line of predictions was written from. Raises UserError where the line lacks fields of it."""
    if task.row_type is None:
        raise UserError(f"the task {task.name} does not declare its rows", "Set its row_type")
    names = {field.name for field in fields(task.row_type)}
    try:
        return task.row_type(**{name: _tuples(value) for name, value in line.items() if name in names})
    except TypeError as error:
        raise UserError(f"{folder}: its predictions lack columns of {task.name}", "Run it with `force`") from error


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
