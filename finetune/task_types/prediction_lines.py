"""Every prediction as a line of a file: the row's fields, label, prediction, probabilities and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from finetune.data.rows import Row, row_fields
from finetune.task_types.task import Answer, Task

SLICE = "slice:"  # begins the names of columns that rows are grouped by


def prediction_lines(
    task: Task,
    rows: Sequence[Row],
    answers: Sequence[Answer],
    baselines: Mapping[str, Sequence[Answer]] = MappingProxyType({}),
    slices: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """One line per row: its fields, `gold`, `answer`, `probabilities`, other fields of the prediction, baselines, and
    the values of other columns of the data (`slice:source`).
    """
    lines = []
    for index, (row, gold, answer) in enumerate(zip(rows, task.gold(rows), answers, strict=True)):
        line = row_fields(row) | {"gold": gold.value} | asdict(answer)
        line["answer"] = line.pop("value")
        line |= {f"baseline:{name}": given[index].value for name, given in baselines.items()}
        line |= {f"{SLICE}{name}": values[index] for name, values in slices.items()}
        lines.append(line)
    return lines
