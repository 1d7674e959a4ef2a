"""The check of an export: the run's dev rows are answered by both, and what differs is counted, shown and tested."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from finetune.commands.export.result import ChangedAnswer
from finetune.data.rows import Row
from finetune.inference.exported.export_facts import ExportCheck, ScoresOfBoth
from finetune.inference.predictor import Predictor
from finetune.metrics.metric import Metric
from finetune.metrics.significance import RESAMPLES, Difference
from finetune.metrics.sums import Counted
from finetune.models.device import build_accelerator
from finetune.runs.record import RunRecord
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import difference_of, resampled_metrics
from finetune.task_types.task import Task
from finetune.training.evaluation import decided_as_dev

CLOSE = 1e-4  # of the largest logit, or of 1: more is not from the order of additions
ALIKE = 0.01  # standard deviations of a run's numbers: numbers that are closer are one answer


@dataclass(frozen=True, kw_only=True)
class CheckedExport:
    """What export.json says of the check, the rows that changed, the headline metric, the points of it that were lost,
    and whether the logits are those of the run but for rounding. Where the score of either is undefined, `lost` are
    the percent of answers that changed.

    Where they are, an answer that changed is a tie: the run's logits are not further from another answer than rounding.
    """

    facts: ExportCheck
    changed: Sequence[ChangedAnswer]
    metric: Metric
    lost: float
    close: bool


def checked_export(
    run: Predictor, export: Predictor, rows: Sequence[Row], *, record: RunRecord | None
) -> CheckedExport:
    """Answers rows by a run, in fp32, and by its export; both are scored as the run's dev was by its record.

    Where that chose options, such as thresholds, those of each row are chosen on others.
    """
    accelerator = build_accelerator(torch.device("cpu"), "fp32")
    first = replace(run, engine=replace(run.torch_engine, accelerator=accelerator))
    sides = [_answered(each, rows) for each in (first, export)]
    largest, most = _differences(*(logits for logits, _ in sides))
    answers = [given for _, given in sides]
    changed = _changed(run.task, rows, *answers)
    metric = run.task.metrics[0]
    judged = [decided_as_dev(run.task, record, given, rows) for given in answers]
    found = _difference(run.task, rows, *judged)
    facts = ExportCheck(
        rows=len(rows), largest_difference=largest, equal=len(rows) - len(changed),
        changed=tuple(one.id for one in changed), score=_scores(metric, found),
    )  # fmt: skip
    return CheckedExport(
        facts=facts, changed=changed, metric=metric, close=largest <= CLOSE * max(1.0, most),
        lost=100 * len(changed) / max(1, len(rows)) if facts.score is None else _lost(metric, found),
    )  # fmt: skip


def _answered(predictor: Predictor, rows: Sequence[Row]) -> tuple[list[np.ndarray], list[Answer]]:
    """The logits of each feature, and the answers."""
    features = predictor.encoded(rows)
    logits = predictor.engine.logits(features)
    return logits, predictor.task.codec.decode(logits, features, rows)


def _differences(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> tuple[float, float]:
    """The largest difference of logits, and the largest logit of the run; infinite where their shapes differ."""
    largest = most = 0.0
    if [each.shape for each in ours] != [each.shape for each in theirs]:
        return float("inf"), 1.0
    for a, b in zip(ours, theirs, strict=True):
        there = np.isfinite(a)
        if (there != np.isfinite(b)).any():
            return float("inf"), 1.0
        largest = max(largest, float(np.abs(a - b)[there].max(initial=0.0)))
        most = max(most, float(np.abs(a[there]).max(initial=0.0)))
    return largest, most


def _changed(task: Task, rows: Sequence[Row], ours: Sequence[Answer], theirs: Sequence[Answer]) -> list[ChangedAnswer]:
    """The rows with two answers."""
    pairs = [
        tuple(task.codec.cells(one, row)["prediction"] for one in (own, other))
        for row, own, other in zip(rows, ours, theirs, strict=True)
    ]
    numbers = [own for own, _ in pairs if isinstance(own, float)]
    apart = ALIKE * float(np.std(numbers)) if numbers else 0.0
    return [
        ChangedAnswer(id=str(row.id), text=str(getattr(row, "input", "")), run=own, export=other)
        for row, (own, other) in zip(rows, pairs, strict=True)
        if not (abs(own - other) <= apart if isinstance(own, float) else own == other)
    ]


def _difference(task: Task, rows: Sequence[Row], ours: Sequence[Answer], theirs: Sequence[Answer]) -> Difference:
    """The export's headline minus the run's, as `finetune compare` tests it."""
    metric = task.metrics[0]
    a, b = (resampled_metrics(task, given, rows)[metric.name] for given in (ours, theirs))
    quick = all(isinstance(each, Counted) for each in (a, b))
    return difference_of(metric, [a], [b], resamples=RESAMPLES if quick else RESAMPLES // 10)


def _scores(metric: Metric, found: Difference) -> ScoresOfBoth | None:
    """The scores as they are shown, in points; None where they are undefined."""
    interval = None
    if not np.isfinite([found.a, found.b]).all():
        return None
    if found.interval is not None:
        interval = (metric.scaled(found.interval[0]), metric.scaled(found.interval[1]))
    return ScoresOfBoth(
        metric=metric.name, run=metric.scaled(found.a), export=metric.scaled(found.b),
        difference=metric.scaled(found.value), interval=interval, p=found.p,
    )  # fmt: skip


def _lost(metric: Metric, found: Difference) -> float:
    """The points that the export lost."""
    lost = metric.scaled(found.value)
    return -lost if metric.greater_is_better else lost
