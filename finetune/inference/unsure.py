"""Leaves out predictions of low confidence (`predict --risk`, `--coverage`): below a threshold that comes from the dev
predictions of the model's run.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.messages import percent, so_many
from finetune.errors import UserError
from finetune.metrics.confidence import coverage_threshold, lowest_risk, risk_threshold
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import named_run
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.verdict import chosen_by_scored, known_to_model
from finetune.task_types.saved_predictions import confidences, run_predictions

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.task_types.parts import Answer
    from finetune.task_types.task import Task

UNSURE = "unsure"  # the prediction of a row that is not answered, and the column with the model's guess
GUESSES = ("entities", "predicted labels", "prediction", "prediction text", "start", "end", "intent")  # columns


@dataclass(frozen=True, kw_only=True)
class Unsure:
    """The least confidence of an answer (`threshold` itself is enough), and notes on the promise for the answers."""

    threshold: float
    notes: tuple[str, ...] = ()

    def cells(
        self, cells: dict[str, Any], task: "Task", labels: tuple[str, ...], row: "Row", answer: "Answer"
    ) -> dict[str, Any]:
        """The cells of a prediction; of a row that is not answered the guess is in the column `unsure`."""
        (confidence,) = confidences(task, labels, [(row, answer)])
        guesses = [name for name in GUESSES if name in cells]
        if confidence is None or confidence < self.threshold:
            listed = isinstance(cells.get("prediction", []), list)
            prediction = {} if listed else {"prediction": UNSURE}  # a column of a Parquet file has one type
            guess = cells[guesses[0]] if guesses else None
            return {**cells, **dict.fromkeys(guesses), **prediction, UNSURE: guess}
        value = cells.get("prediction")
        if isinstance(value, int | Mapping):
            return cells | {"prediction": json.dumps(value, ensure_ascii=False)}
        return cells


def require_share(coverage: float | None, risk: float | None) -> None:
    """Raises UserError for a share that is not between 0 and 1, and for both at once."""
    for name, share in (("coverage", coverage), ("risk", risk)):
        if share is not None and not 0 < share < 1:
            raise UserError(f"'{name}' is {share:g}", "Give a share between 0 and 1, such as 0.05 for 5 %")
    if coverage is not None and risk is not None:
        raise UserError("of coverage and risk one can be asked for", "Leave the other out")


def dev_confidence(record: RunRecord, run: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    """The confidence of each dev row of a run, and whether its prediction is right, each `(rows,)`; empty if unknown.

    Raises UserError where the predictions are missing or damaged.
    """
    table = run_predictions(record, run, record.first_split)
    if table is None or table.right is None:
        return np.zeros(0), np.zeros(0, bool)
    finite = np.isfinite(table.confidence)
    return table.confidence[finite], table.right[finite]


def unsure_of(
    model: str, task: "Task", labels: tuple[str, ...], *, coverage: float | None, risk: float | None, out: Path
) -> Unsure | None:
    """The threshold with which a share `coverage` of rows is answered, or at most a share `risk` of answers is wrong;
    None without either.

    Raises UserError for a model that is not a run, and for a risk that its dev rows cannot promise.
    """
    require_share(coverage, risk)
    if coverage is None and risk is None:
        return None
    run = named_run(model, out)
    if UNSURE in labels:
        raise UserError(f"'{UNSURE}' is a label of {task.name}, and what is written for other rows", "Rename the label")
    if run is None:
        raise UserError(f"'{model}' is not a run, from whose dev predictions a threshold is taken", "Name its run")
    record = load_record(run.record_file)
    split, (confidence, right) = record.first_split, dev_confidence(record, run)
    if not len(confidence):
        none = f"no prediction on {split} is right or wrong with a confidence"
        raise UserError(f"{task.name}: {none}", "Leave the option out")
    if risk is None:
        assert coverage is not None
        share, what = coverage_threshold(confidence, right, coverage), f"coverage {percent(coverage)}"
        promised = "on average over draws of dev rows"
    else:
        what, promised = f"risk {percent(risk)}", f"at most {percent(risk)} are wrong in 95 of 100 draws of dev rows"
        if (chosen_share := risk_threshold(confidence, right, risk)) is None:
            lowest = lowest_risk(confidence, right)
            way_out = "Leave `risk` out, or ask for a coverage"
            raise UserError(
                f"{what} cannot be promised from {so_many(len(right))} of {split}, {(~right).sum():,} of them wrong",
                way_out if lowest is None else f"Ask for `risk` {lowest:g}, which they promise, or add rows to {split}",
            )
        share = chosen_share
    least = "any confidence" if share.threshold == -math.inf else f"a confidence of {share.threshold:.6g} or more"
    answers = f"{percent(share.coverage)} of {len(right):,} on {split}, {percent(share.wrong)} of those wrong"
    notes = [f"{what}: {least}: {answers}; {promised}"]
    if chosen := chosen_by_scored(record):
        notes.append(
            f"{split} chose {chosen} of this model, so that its rows are not as new ones: predict labelled rows that "
            "chose nothing with the same option, which counts and scores them"
        )
    if leaks := "; ".join(filter(None, [known_to_model(record), *record.leaks(split)])):
        notes.append(f"{leaks}: nothing is promised for this model")
    return Unsure(threshold=share.threshold, notes=tuple(notes))
