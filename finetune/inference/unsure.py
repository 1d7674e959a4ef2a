"""Leaves out what a model is not sure of (`predict --risk`, `--coverage`): one threshold of confidence, from the dev
predictions of its run.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.messages import percent, so_many
from finetune.errors import UserError
from finetune.inference.predict_plan import known_type
from finetune.metrics import selective
from finetune.metrics.selective import AnsweredShare
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import named_run
from finetune.runs.record_files import load_record
from finetune.runs.verdict import chosen_by_scored, known_to_model
from finetune.task_types.predictions import Decisions, prediction_lines
from finetune.task_types.saved_predictions import answered, run_predictions

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.task_types.columns import Layout
    from finetune.task_types.own_type import OwnType
    from finetune.task_types.parts import Answer
    from finetune.task_types.task import Task

UNSURE = "unsure"  # the prediction of a row that is not answered, and the column of what was left out
DRAWS = "in 95 of 100 draws of dev rows"
OF_GUESS = ("prediction text", "start", "end", "intent", "entities")  # empty where nothing is predicted


@dataclass(frozen=True, kw_only=True)
class Unsure:
    """The least confidence of what is answered, what may be left out (`claimed`, in words), and what is promised."""

    claimed: str
    threshold: float
    notes: tuple[str, ...] = ()

    def cells(
        self, task: "Task", labels: tuple[str, ...], kind: "OwnType", layout: "Layout", answer: "Answer", row: "Row"
    ) -> dict[str, Any]:
        """The cells of a prediction without what is left out, which the column `unsure` has."""
        table = answered(kind, task, labels, prediction_lines(task, [row], [answer]))
        cells, claims = kind.cells(task, layout, answer, row), table.claims
        left_out = claims.at(claims.confidence < self.threshold)
        rest, value = table.without(0, left_out), cells.get("prediction")  # entities have no such cell
        if rest is None and len(left_out):  # what would have been predicted is in a column of its own
            empty = {name: None for name in OF_GUESS if name in cells}
            return {**cells, **empty, "prediction": UNSURE, UNSURE: value}
        if rest is None:  # a text, as `unsure` in the same column is: a column of a Parquet file has one type
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value
            return cells | {"prediction": str(value) if isinstance(value, int) else text}
        kept = kind.cells(task, layout, replace(answer, value=rest), row)
        name = next(name for name in ("entities", "predicted labels", "prediction") if name in cells)
        return kept | {UNSURE: [part for part in cells[name] if part not in kept[name]]}


@dataclass(frozen=True, kw_only=True)
class DevClaims:
    """What a run predicted on the `rows` of its first `split`; `chosen` is what dev chose of the model, and `known` why
    the model knows some of its rows, in words.
    """

    split: str
    rows: int
    decisions: Decisions
    chosen: str = ""
    known: str = ""


def require_share(coverage: float | None, risk: float | None) -> None:
    """Raises UserError for a share that is not between 0 and 1, and for both together."""
    for name, share in (("coverage", coverage), ("risk", risk)):
        if share is not None and not 0 < share < 1:
            raise UserError(f"'{name}' is {share:g}", "Give a share between 0 and 1, such as 0.05 for 5 %")
    if coverage is not None and risk is not None:
        raise UserError("of coverage and risk one can be asked for", "Leave the other out")


def claims_of(run: RunFolder) -> DevClaims:
    """The claims of a run's saved predictions. Raises UserError where they are missing or damaged."""
    record = load_record(run.record_file)
    table = run_predictions(record, run, record.first_split)
    return DevClaims(
        split=record.first_split,
        rows=0 if table is None else len(table),
        decisions=Decisions.made(()) if table is None else table.claims,
        chosen=chosen_by_scored(record),
        known="; ".join(filter(None, [known_to_model(record), *record.leaks(record.first_split)])),
    )


def unsure_of(
    model: str, task: "Task", labels: tuple[str, ...], *, coverage: float | None, risk: float | None, out: Path
) -> Unsure | None:
    """With which threshold a share `coverage` of rows is answered, the most confident, or the rows of which at most a
    share `risk` is wrong; None where neither is asked for.

    Raises UserError for a model that is not a run, and for what its dev rows cannot promise.
    """
    require_share(coverage, risk)
    if coverage is None and risk is None:
        return None
    kind, run = known_type(task), named_run(model, out)
    if UNSURE in labels:
        raise UserError(f"'{UNSURE}' is a label of {task.name}, and what is written for other rows", "Rename the label")
    if run is None:
        raise UserError(f"'{model}' is not a run, from whose dev predictions a threshold is taken", "Name its run")
    claims, claimed = claims_of(run), kind.predictions([], labels, task).claimed
    if not len(claims.decisions):
        none = f"the model predicts no {claimed} of {claims.split} with a confidence"
        raise UserError(f"{task.name}: {none}", "Leave the option out")
    if risk is None:
        assert coverage is not None
        share = selective.coverage_threshold(claims.decisions.confidence, claims.decisions.right, coverage)
        notes = [f"coverage {percent(coverage)}: {_on_dev(share, claims)}; on average over draws of dev rows"]
    else:
        share = _promised(claims, risk)
        notes = [f"risk {percent(risk)}: {_on_dev(share, claims)}; at most {percent(risk)} are wrong {DRAWS}"]
    if claims.chosen:
        notes.append(
            f"{claims.split} chose {claims.chosen} of this model, so that its rows are not as new ones: predict"
            " labelled rows that chose nothing with the same option, which counts and scores them"
        )
    if claims.known:
        notes.append(f"{claims.known}: nothing is promised for this model")
    return Unsure(claimed=claimed, threshold=share.threshold, notes=tuple(notes))


def _promised(claims: DevClaims, risk: float) -> AnsweredShare:
    """The threshold of a risk. Raises UserError where these rows cannot promise it."""
    confidence, right = claims.decisions.confidence, claims.decisions.right
    effect = selective.design_effect(~right, claims.decisions.row)
    share = selective.risk_threshold(confidence, right, risk, effect=effect)
    if share is not None:
        return share
    what = f"risk {percent(risk)} cannot be promised from {so_many(claims.rows)} of {claims.split}"
    raise UserError(what, "Give the run more of them, ask for a higher `risk`, or for a coverage")


def _on_dev(share: AnsweredShare, claims: DevClaims) -> str:
    """What a threshold gives on dev, in words."""
    least = "any confidence" if share.threshold == -math.inf else f"a confidence of {share.threshold:.3g} or more"
    answers = f"{percent(share.coverage)} of {len(claims.decisions):,} on {claims.split}"
    return f"{least}: {answers}, {percent(share.wrong)} of those wrong"
