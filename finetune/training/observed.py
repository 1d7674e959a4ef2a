"""What a finished run saw of its rows and of its own predictions, for its record."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.paths import from_here
from finetune.data.rows import OwnRow, Row, StreamedRows
from finetune.models.families import most_tokens
from finetune.models.feature_arrays import truncated_rows
from finetune.runs.record_parts import MOST_COMPARED, MOST_WORDS, Observed
from finetune.task_types.label_counts import frequent_predictions
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.evaluation import Evaluated
from finetune.training.prepared_run import BuiltRun, PlannedRun

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NEARLY_ALL = 0.95  # share of the training rows that the advised length does not cut
SAMPLE_ROWS = 2_000  # whose tokens are counted
STEP = 64  # the advised length is a multiple of it
LEAST_SPREAD = 0.01  # of predicted numbers, as a share of that of the labels: less is one number


def observed(planned: PlannedRun, built: BuiltRun, found: Evaluated) -> Observed:
    """The facts of a run that its record has nowhere else."""
    split, answers = next(iter(found.answers.items()))
    dev, train = planned.rows[split], planned.train_rows
    return Observed(
        constant=None if built.model.head.pretrains else _constant(found.task, answers, dev),
        contradicted=_contradicted(planned.task, train[:MOST_COMPARED]),
        fitting_length=_fitting_length(planned, built),
        longest_length=most_tokens(built.model.backbone.encoder),
        typed=list(planned.typed) if len(planned.typed) <= MOST_WORDS else [],
        data_folder=from_here(str(planned.source.folder)) if planned.source.explicit else "",
    )


def _constant(task: Task, answers: Sequence[Answer], rows: Sequence[Row]) -> str | None:
    """The one prediction that all rows have, where their labels differ: a label, a number or a text."""
    values, labels = ([one.value for one in side] for side in (answers, task.scoring.labels(rows)))
    if len(set(map(str, labels))) < 2:
        return None
    if all(isinstance(value, float) for value in (*values, *labels)):
        spread, of_labels = float(np.std(values)), float(np.std(labels))
        return f"{np.mean(values):.3g}" if spread < LEAST_SPREAD * of_labels else None
    if len(set(map(str, values))) == 1:
        return _in_words(values[0]) or "no answer"
    return None if frequent_predictions(task, values) or not frequent_predictions(task, labels) else "no label"


def _in_words(value: Any) -> str:
    """A prediction; of several labels their names."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "no label"
    return str(value)


def _contradicted(task: Task, rows: Sequence[Row]) -> int:
    """The rows whose text another row has with a different label, as `check` finds them; of numbers, with one that is
    more than their standard deviation away. Of one text several may be written.
    """
    kind = type_of(task)
    if kind is None or isinstance(rows, StreamedRows) or not all(isinstance(row, OwnRow) for row in rows):
        return 0
    labels: dict[str, list[Any]] = defaultdict(list)
    for row, label in zip(rows, task.scoring.labels(rows), strict=True):
        if kind.closed_labels or not isinstance(label.value, str):
            labels[same_text(row.input)].append(label.value)
    numbers = [value for some in labels.values() for value in some if isinstance(value, float)]
    apart = float(np.std(numbers)) if len(numbers) == len(rows) else 0.0
    return sum(len(some) for some in labels.values() if _differ(some, apart))


def _differ(labels: Sequence[Any], apart: float) -> bool:
    if apart:
        return float(max(labels) - min(labels)) > apart
    return len(set(map(str, labels))) > 1


def _fitting_length(planned: PlannedRun, built: BuiltRun) -> int:
    """The tokens that nearly all training rows have, rounded up; 0 where none was cut."""
    features = built.features[planned.task.train_split]
    if not len(features) or not truncated_rows(features)[1].any():
        return 0
    rows = planned.train_rows[:: max(1, len(planned.train_rows) // SAMPLE_ROWS)]
    texts = [row.input for row in rows if isinstance(row, OwnRow)]
    counts = _token_counts(texts, built.tokenizer) if texts else []
    return math.ceil(np.quantile(counts, NEARLY_ALL) / STEP) * STEP if len(counts) else 0


def _token_counts(texts: list[str], tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    found = tokenizer(texts, return_attention_mask=False, truncation=False, verbose=False)["input_ids"]
    return [len(ids) for ids in found]
