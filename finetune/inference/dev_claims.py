"""The claims of a run's dev predictions, kept in the folder of its model: what thresholds are computed from."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.atomic import write_atomically
from finetune.data.checksums import write_checksums
from finetune.errors import UserError
from finetune.runs.dev_choices import chosen_by_scored, known_to_model
from finetune.runs.lookup import named_run
from finetune.runs.predictions import read_predictions
from finetune.runs.record import RunRecord
from finetune.task_types.run_view import split_view_of
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.task_types.view import DevClaims, Line, View

FILE = "dev_claims.json"
AGAIN = "Train it again, which keeps them with the model"


def lines_view(task: Task, lines: list[Line], labels: tuple[str, ...]) -> View | None:
    """The view of a model's predictions, labelled or not; None for a task of an unknown type."""
    kind = type_of(task)
    return None if kind is None else kind.view(lines=lines, labels=labels).for_task(task)


def save_claims(model: Path, view: View | None, record: RunRecord) -> None:
    """Writes the claims of the first split into the model's folder, with its checksums; nothing where there are none.

    Raises OSError where the folder cannot be written.
    """
    if view is None:
        return
    found = claims_of(view, record)
    if found.confidence or found.errors:
        write_atomically(model / FILE, json.dumps(asdict(found)) + "\n")
        write_checksums(model)


def claims_with(model: str, folder: Path, *, out: Path) -> DevClaims:
    """The claims that are kept with a model, else those of its run's saved dev predictions.

    Raises UserError where there are neither.
    """
    if (folder / FILE).is_file():
        return _read(folder / FILE)
    run = named_run(model, out)
    if run is None:
        raise UserError(f"'{model}' has no dev predictions with it, from which thresholds are taken", AGAIN)
    record = run.record()
    assert record is not None  # of a finished run
    split = record.first_split
    view = split_view_of(record, run, split, read_predictions(run.predictions(split)))
    if view is None:
        raise UserError(f"{run.predictions(split)}: has no labels with probabilities", AGAIN)
    return claims_of(view, record)


def claims_of(view: View, record: RunRecord) -> DevClaims:
    """The claims of a run's labelled predictions for its first split."""
    found = [(row, claim) for row, line in enumerate(view.lines) for claim in view.claims(line)]
    numbers = None if view.bounded else view.numbers()
    return DevClaims(
        split=record.first_split,
        rows=len(view.lines),
        row=[row for row, _ in found],
        label=[claim.label for _, claim in found],
        confidence=[claim.confidence for _, claim in found],
        right=[claim.right for _, claim in found],
        sets=[chances for line in view.lines if (chances := _own(view, line)) is not None],
        errors=[] if numbers is None else np.abs(numbers[1] - numbers[0]).tolist(),
        chosen=chosen_by_scored(record),
        known=known_to_model(record),
    )


def _own(view: View, line: Mapping[str, Any]) -> list[float] | None:
    """The probabilities of a row's labels; None where a row has no candidates.

    Where a row has one label, a set needs one of the candidates that are right, the most probable of them.
    """
    candidates = view.candidates(dict(line))
    if not candidates:
        return None
    right = [one.chance for one in candidates if one.right]
    return right if view.several else [max(right, default=0.0)]


def _read(file: Path) -> DevClaims:
    try:
        saved: Any = json.loads(file.read_text(encoding="utf-8"))
        return DevClaims(**saved)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{file}: is damaged", AGAIN) from error
