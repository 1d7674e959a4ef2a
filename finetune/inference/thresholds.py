"""Thresholds for `predict --risk`, `--coverage`, `--precision` and `--label-sets`, from predictions of dev: those of a
run, or of a pushed model or an export those of a file in its folder.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.messages import percent, so_many
from finetune.errors import UserError, nearest
from finetune.inference.asked import UNSURE, AskedAnswers
from finetune.inference.predictor import Predictor, saved
from finetune.inference.unsure import Unsure, labels_of
from finetune.metrics import selective
from finetune.metrics.selective import AnsweredShare
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import named_run
from finetune.runs.predictions import read_predictions
from finetune.runs.record_files import load_record
from finetune.runs.verdict import chosen_by_scored, known_to_model
from finetune.task_types.saved_predictions import run_predictions
from finetune.task_types.types import type_of

DRAWS = "in 95 of 100 draws of dev rows"
FILE = "dev_claims.json"  # in the folder of an export, and of a pushed model
NO_ROWS = "Name its run, or an export of it: finetune export RUN -o FOLDER"


@dataclass(frozen=True, kw_only=True)
class DevClaims:
    """What thresholds need of dev predictions, without texts: `(claims,)` lists, and for label sets by row.

    `rows` counts dev rows, and `row` says of which each claim is. `sets` has for each row the probabilities of its own
    labels, `errors` those of numbers. `chosen` is what dev chose of the model, and `known` why the model knows some of
    its rows, in words.
    """

    split: str
    rows: int
    row: Sequence[int]
    label: Sequence[str]
    confidence: Sequence[float]
    right: Sequence[bool]
    sets: Sequence[Sequence[float]] = ()
    errors: Sequence[float] = ()
    chosen: str = ""
    known: str = ""

    def arrays(self, label: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(confidence, whether right, row) of the claims, or of those of one label."""
        kept = [label in (None, each) for each in self.label]
        return (np.array(self.confidence, float)[kept], np.array(self.right, bool)[kept], np.array(self.row, int)[kept])

    def text(self) -> str:
        """What `claims_with` reads from a file."""
        return json.dumps(asdict(self)) + "\n"


def claims_with(model: str, folder: Path, *, out: Path) -> DevClaims:
    """The claims of a run's saved dev predictions, else those in the folder of a model. Raises UserError without."""
    run = named_run(model, out)
    if run is None and (folder / FILE).is_file():
        try:
            return DevClaims(**json.loads((folder / FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise UserError(f"{folder / FILE}: is damaged", NO_ROWS) from error
    found = None if run is None else claims_of(run)
    if found is None:
        raise UserError(f"'{model}' has no dev predictions with it, from which thresholds are taken", NO_ROWS)
    return found


def claims_of(run: RunFolder) -> DevClaims | None:
    """The claims of a run's labelled predictions for its first split; None without any of a known type.

    Raises UserError where they are missing or damaged.
    """
    record = load_record(run.record_file)
    table = run_predictions(record, run, record.first_split, read_predictions(run.predictions(record.first_split)))
    if table is None:
        return None
    claims = table.claimed_parts
    sets = [[row.get(name, 0.0) for name in labels_of(table, at)] for at, row in enumerate(table.chances)]
    return DevClaims(
        split=record.first_split, rows=len(table), row=claims.row.tolist(), label=claims.prediction.tolist(),
        confidence=claims.confidence.tolist(), right=claims.right.tolist(), sets=sets,
        errors=[] if table.numbers is None else table.score.tolist(), chosen=chosen_by_scored(record),
        known="; ".join(filter(None, [known_to_model(record), *record.leaks(record.first_split)])),
    )  # fmt: skip


def with_unsure(predictor: Predictor, model: str, asked: AskedAnswers, *, out: Path) -> Predictor:
    """The predictor that leaves out what it is not sure of, by thresholds from the dev claims of its model.

    Raises UserError for what a task cannot be asked for, and for what these dev rows cannot promise.
    """
    task, labels = predictor.task, predictor.engine.labels
    if predictor.temperature != 1:
        raise UserError("thresholds are of probabilities without a temperature", "Leave temperature=dev out")
    if asked.abstains and UNSURE in labels:
        raise UserError(f"'{UNSURE}' is a label of {task.name}, and what is written for other rows", "Rename the label")
    claims, kind = claims_with(model, Path(saved(model, out=out).files.folder), out=out), type_of(task)
    claimed = "predictions" if kind is None else kind.predictions([], labels, task).claimed
    if kind is None or not (claims.confidence or claims.errors):
        none = f"the model predicts no {claimed} of {claims.split} with a confidence"
        raise UserError(f"{task.name}: {none}", "Leave the option out")
    unsure = _thresholds(claims, Unsure(claimed=claimed, abstains=asked.abstains), asked, task.name)
    unsure = _with_sets(unsure, claims, asked, task.name)
    if claims.chosen:
        unsure = replace(unsure, notes=(*unsure.notes, _chosen(claims)))
    if claims.known:
        unsure = replace(unsure, notes=(*unsure.notes, f"{claims.known}: nothing is promised for this model"))
    return replace(predictor, unsure=unsure, fingerprint=f"{predictor.fingerprint} asked {asked}")


def _thresholds(claims: DevClaims, unsure: Unsure, asked: AskedAnswers, name: str) -> Unsure:
    """The thresholds of what may be left out."""
    if not asked.abstains:
        return unsure
    if not claims.confidence:
        way = "Ask for intervals: `label_sets` 0.95"
        raise UserError(f"a number has no confidence, so {name} cannot leave rows out", way)
    if asked.coverage is not None:
        found = selective.coverage_threshold(*claims.arrays()[:2], asked.coverage)
        note = f"coverage {percent(asked.coverage)}: {_found(found, claims)}; on average over draws of dev rows"
        return replace(unsure, threshold=found.threshold, notes=(note,))
    if asked.risk is not None:
        found, share = _promised(claims, asked.risk), percent(asked.risk)
        note = f"risk {share}: {_found(found, claims)}; at most {share} are wrong {DRAWS}"
        return replace(unsure, threshold=found.threshold, notes=(note,))
    for label, _ in asked.precision:
        _require_label(claims, label, name)
    by_label = {label: _promised(claims, 1 - share, label) for label, share in asked.precision}
    notes = tuple(
        f"precision {label} {percent(share)}: predicted with {_found(by_label[label], claims, label)}; "
        f"at least {percent(share)} are right {DRAWS}"
        for label, share in asked.precision
    )
    return replace(unsure, by_label={label: one.threshold for label, one in by_label.items()}, notes=notes)


def _require_label(claims: DevClaims, label: str, name: str) -> None:
    """Raises UserError for a label that is never predicted on dev, and where there are no labels."""
    known = list(dict.fromkeys(each for each in claims.label if each))
    if not known:
        raise UserError(f"{name} has no labels to name", "Ask for `risk` 0.05")
    if label not in known:
        raise UserError(
            f"'{label}' is never predicted on {claims.split}", f"{nearest(label, known)}Name one of {', '.join(known)}"
        )


def _promised(claims: DevClaims, risk: float, label: str | None = None) -> AnsweredShare:
    """The threshold of a risk. Raises UserError where these rows cannot promise it, with how many rows could."""
    confidence, right, row = claims.arrays(label)
    effect = selective.design_effect(~right, row)
    found = selective.risk_threshold(confidence, right, risk, effect=effect)
    if found is None:
        raise UserError(*_not_promised(claims, risk, label, confidence, right, effect))
    return found


def _not_promised(
    claims: DevClaims, risk: float, label: str | None, confidence: Any, right: Any, effect: float
) -> tuple[str, str]:
    times = selective.rows_needed(confidence, right, risk, effect=effect)
    lowest = selective.lowest_risk(confidence, right, effect=effect)
    rows = claims.rows
    of = f"{so_many(rows)} of {claims.split}" + (f", {len(right):,} predicted {label}" if label else "")
    if times is None:
        need = "too few of the most confident are right to tell how many would do"
    else:
        needed = max(math.ceil(times * rows), rows + 1)
        need = f"about {_rounded(needed):,} are needed"
    asked = f"risk {percent(risk)}" if label is None else f"precision {percent(1 - risk)} of {label}"
    option = "`risk` {:g}" if label is None else f"`precision` {label}={{:g}}"
    value = None if lowest is None else lowest if label is None else round(1 - lowest, 2)
    way = f"Ask for {option.format(value)}, which they promise" if value is not None else "Ask for a coverage instead"
    return f"{asked} cannot be promised from {of}: {need}", way


def _with_sets(unsure: Unsure, claims: DevClaims, asked: AskedAnswers, name: str) -> Unsure:
    """With the threshold of label sets, or for numbers the width of intervals."""
    level = asked.label_sets
    if level is None:
        return unsure
    share = percent(level)
    if claims.errors:
        width = selective.interval_width(claims.errors, level)
        note = (
            f"intervals {share}: {width or 0:.4g} on each side; a new label is inside in {share}, on average over draws"
        )
        return replace(unsure, width=_enough(width, claims, level), notes=(*unsure.notes, f"{note} of dev rows"))
    if not claims.sets:
        raise UserError(f"{name} keeps no probabilities of other labels for sets", "Ask for `risk` 0.05")
    threshold = _enough(selective.set_threshold(claims.sets, level), claims, level)
    note = f"label sets {share}: labels of a probability of {threshold:.3g} or more; they have {share} of the labels"
    return replace(unsure, sets=threshold, notes=(*unsure.notes, f"{note}, on average over draws of dev rows"))


def _enough(found: float | None, claims: DevClaims, level: float) -> float:
    """The threshold. Raises UserError where the dev rows are too few for it."""
    if found is not None:
        return found
    needed, rows = selective.rows_for_sets(level), sum(map(bool, claims.sets)) if claims.sets else claims.rows
    if rows < needed:
        most = math.floor(100 * rows / (rows + 1)) / 100
        way = f"Ask for `label_sets` {most:g}" if rows else "Ask for `risk` 0.05"
        what = f"label sets of {percent(level)} need {needed:,} dev rows with a label, and there are {rows:,}"
        raise UserError(what, way)
    raise UserError(
        f"label sets of {percent(level)} cannot be had: the label is among the candidates of too few rows", "Lower it"
    )


def _found(found: AnsweredShare, claims: DevClaims, label: str | None = None) -> str:
    """What a threshold gives on dev, in words."""
    count = sum(label in (None, each) for each in claims.label)
    threshold = "any confidence" if found.threshold == -math.inf else f"a confidence of {found.threshold:.3g} or more"
    wrong = f"{percent(found.wrong)} of those wrong"
    return f"{threshold}: {percent(found.coverage)} of {count:,} on {claims.split}, {wrong}"


def _chosen(claims: DevClaims) -> str:
    return (
        f"{claims.split} chose {claims.chosen} of this model, so that its rows are not as new ones: `finetune evaluate`"
        " with the same option counts on rows that chose nothing"
    )


def _rounded(rows: int) -> int:
    """A number of rows to two digits, not below it."""
    unit = int(10 ** max(0, len(str(rows)) - 2))
    return math.ceil(rows / unit) * unit
