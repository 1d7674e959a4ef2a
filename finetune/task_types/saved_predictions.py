"""The predictions of a run as a table: the one way in which reports, commands and the Python API read them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

from finetune.data.rows import Row
from finetune.runs.folder import RunFolder, read_lines
from finetune.runs.record import RunRecord
from finetune.task_types.own_type import OwnType
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import Line, Predictions, prediction_lines
from finetune.task_types.registry import available
from finetune.task_types.task import Task
from finetune.task_types.types import own_types, type_of


def run_predictions(
    record: RunRecord, folder: RunFolder, split: str, lines: Sequence[Line] | None = None
) -> Predictions | None:
    """The labelled predictions of a split, by default the saved ones; None where no row has a label, or no task type
    fits: the recipe's, else of the saved columns, else of the run's task.

    Labels are the saved model's; without it the names in the record's scores. Raises UserError where the predictions
    are missing or damaged.
    """
    lines = read_lines(folder, split) if lines is None else lines
    settings, shape = saved_config(folder.model), (record.recipe.get("options") or {}).get("shape")
    layout, task = settings.get("finetune", {}).get("layout"), available().get(record.task)
    layout = layout if isinstance(layout, dict) else {}
    kind = own_types().get(str(shape or layout.get("shape", ""))) or (type_of(task) if task is not None else None)
    order = layout.get("order")
    return labelled_table(
        kind, lines, names=_saved_labels(record, split, settings), task=None if shape else task,
        order=list(map(str, order)) if isinstance(order, list) else [],
    )  # fmt: skip


def labelled_table(
    kind: OwnType | None,
    lines: Sequence[Line],
    *,
    names: Sequence[str] = (),
    order: Sequence[str] = (),
    task: Task | None = None,
) -> Predictions | None:
    """The table of those lines that have a label; without a type, of the first one whose rows look like these.

    A task may have an order of its labels, and scores of its own. None without lines or a type.
    """
    labelled = [line for line in lines if line["gold"] is not None and line["prediction"] is not None]
    kind = kind or next(
        (candidate for candidate in own_types().values() if all(_fits(candidate, line) for line in labelled)), None
    )
    if not labelled or kind is None:
        return None
    order = getattr(task, "order", ()) or order
    return replace(kind.predictions(labelled, names, task), order=order)


def answered(kind: OwnType, task: Task, names: Sequence[str], lines: Sequence[Line]) -> Predictions:
    """The table of all lines, in which those without a label are taken for right."""
    labelled = [line if line["gold"] is not None else {**line, "gold": line["prediction"]} for line in lines]
    return kind.predictions(labelled, names, task)


def with_outcomes(task: Task, names: Sequence[str], lines: Sequence[Line]) -> Sequence[Line]:
    """The lines with their confidence, whether they are right, and their score; of no known type as they are."""
    kind = type_of(task)
    if kind is None or not lines:
        return lines
    unknown = dict.fromkeys(("right", "row_score"))
    outcomes = answered(kind, task, names, lines).saved()
    return [
        line | added | (unknown if line["gold"] is None else {}) for line, added in zip(lines, outcomes, strict=True)
    ]


def confidences(task: Task, names: Sequence[str], pairs: Sequence[tuple[Row, Answer]]) -> list[float | None]:
    """How sure each prediction is, 0 to 1, as a table of predictions has it; None where it is not known."""
    lines = prediction_lines(task, [row for row, _ in pairs], [answer for _, answer in pairs])
    return [line.get("confidence") for line in with_outcomes(task, names, lines)]


def _fits(kind: OwnType, line: Line) -> bool:
    """Whether a line has the fields of a type's rows, and such a label."""
    row: Any = kind.task_class.row_type
    names = {"lines" if row is None else field.name for field in fields(row or Predictions) if field.default is MISSING}
    parts = line["gold"] if isinstance(line["gold"], list | tuple) else ()
    return all(isinstance(part, kind.label_is) for part in (line["gold"], *parts)) and names <= line.keys()


def saved_config(model: Path) -> dict[str, Any]:
    """The config of a saved model; empty where it is missing or damaged, since a report works without it."""
    try:
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
        return config if isinstance(config.get("finetune", {}), dict) else {}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _saved_labels(record: RunRecord, split: str, settings: Mapping[str, Any]) -> Sequence[str]:
    """Label names in the order of the probabilities; empty where they are not known."""
    try:
        names = settings["id2label"]
        return [str(names[str(index)]) for index in range(len(names))]
    except (LookupError, TypeError):
        return list(dict.fromkeys(name.rpartition("/")[0] for name in record.scores.get(split, {}) if "/" in name))
