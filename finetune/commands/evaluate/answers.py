"""Scores predictions by row id, of a JSON file (SQuAD's official format) or in memory, without a model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.api.inputs import is_path
from finetune.data.messages import noun, so_many
from finetune.data.paths import is_data, read_small
from finetune.data.source import Source
from finetune.errors import UserError, first_line
from finetune.metrics.metric import Metric, Scores, find_metric
from finetune.metrics.scores import in_words
from finetune.runs.folder import OLDER, PREDICTION
from finetune.runs.lookup import named_run
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import load_splits
from finetune.task_types.task import Task

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 1_000_000_000  # of a file of predictions
IDS_SHOWN = 3  # ids in a note
ID = "id"  # the column of row ids
GivenValues = dict[str, Any]  # row id -> prediction


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What `finetune.evaluate` returns.

    Example: `finetune.evaluate(run.model, "mrpc").scores["dev"]["f1"]`

    Attributes:
        task: The task.
        scores: For each split the score of each metric, as computed: 0.843 is 84.3 points.
        shared: For each split how many rows have texts that the model's run, or one that it learned from, was trained
            on, by the run's id; without those that have none.
        file: The name of the data file that was scored, if it is one.
        saved: Whether these are scores of saved predictions, without a model.
        notes: What to take into account, such as that these are rows of the training data.
    """

    task: Task
    scores: Scores
    notes: tuple[str, ...] = ()
    shared: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    file: str = ""
    saved: bool = False

    def metric(self, name: str) -> Metric:
        """A metric of the task."""
        return find_metric(name, self.task.metrics)

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each split and metric."""
        import pandas as pd

        rows = [(split, name, score) for split, scores in self.scores.items() for name, score in scores.items()]
        return pd.DataFrame(rows, columns=["split", "metric", "score"])

    def __repr__(self) -> str:
        return f"<Evaluation on {self.task.name}: {in_words(self.scores, self.metric) or 'no labels, so no scores'}>"


def are_answers(given: Any, task: Any, out: Path) -> bool:
    """Whether predictions are given, in memory or in a JSON file, and no model."""
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        return True
    file = is_path(given) and str(given).endswith(".json") and Path(given).is_file()
    return file and isinstance(task, str) and not is_data(task) and named_run(str(given), out) is None


def score_answers(task: Task, answers: Any, *, source: Source, split: str | None = None) -> Evaluation:
    """Scores of predictions on a split, its first dev split by default. They are given by row id: a dictionary, a JSON
    file, or a DataFrame with the columns `id` and `prediction`.

    For question answering, a missing prediction counts 0, as in the official script for SQuAD 1.1. Raises UserError for
    invalid predictions, for missing ones of another task, and for rows without labels.
    """
    split = split or task.dev_splits[0]
    loaded = load_splits(task, source, names=[split])[split]
    rows, labels = loaded.rows, task.labels_of(loaded.rows)
    if any(label.value is None for label in labels):
        raise UserError(f"{loaded.origin}: rows of the split '{split}' have no labels", "Choose another `split`")
    name, given = _named(answers, split)
    there, names = np.array([row.id in given for row in rows]), {row.id for row in rows}
    missing, extra = [row.id for row in rows if row.id not in given], [row for row in given if row not in names]
    what = f"{name}: has no prediction for {len(missing):,} of {so_many(len(rows))}"
    if missing and (not task.missing_is_wrong or len(missing) == len(rows)):
        raise UserError(
            f"{what}, first {missing[0]}",
            "Add them (an empty text means no answer), or choose the right `data_folder` and `split`",
        )
    for row, label in zip(rows, labels, strict=True):
        if row.id in given and not task.fits(given[row.id], row):
            raise UserError(
                f"{name}: the prediction for {row.id} is {given[row.id]!r}", f"A valid one is {label.value!r}"
            )
    notes = [f"{what} ({_first(missing)}): each counts 0"] if missing else []
    if extra:
        unknown = f"{so_many(len(extra), 'id')} {noun(len(extra), 'is', 'are')} unknown ({_first(extra)})"
        notes.append(f"{name}: {unknown}: ignored")
    values = [Answer(value=given.get(row.id, "")) for row in rows]
    if missing:  # (0 without a prediction, 1 for the row)
        kept, sums = np.column_stack([there, np.ones(len(rows))]), task.sums(values, rows)
        scores = {metric: replace(one, counts=one.counts * kept).score for metric, one in sums.items()}
    else:
        scores = task.score(values, rows)
    return Evaluation(task=task, scores={split: scores}, notes=tuple(notes), saved=True)


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:IDS_SHOWN]) + ", ..." * (len(names) > IDS_SHOWN)


def _named(given: Any, split: str) -> tuple[str, GivenValues]:
    """A name for messages, and the values by row id; of a DataFrame with several splits those of one."""
    if is_path(given):
        return str(given), _read(Path(given))
    name = "the predictions"
    if isinstance(given, Mapping):
        return name, {str(row): value for row, value in given.items()}
    columns = list(getattr(given, "columns", ()))
    column = next((column for column in (PREDICTION, OLDER) if column in columns), "")
    if ID not in columns or not column:
        raise UserError(
            f"{name} are a {type(given).__name__} without the columns '{ID}' and '{PREDICTION}'",
            "Give a dictionary from row id to prediction, a DataFrame with these columns, or a JSON file",
        )
    rows = given[given["split"] == split] if "split" in columns else given
    if rows[ID].duplicated().any():
        twice = rows[ID][rows[ID].duplicated()].iloc[0]
        raise UserError(f"{name} have two rows with the id {twice}", "Give those of one run")
    return name, dict(zip(rows[ID].astype(str), rows[column], strict=True))


def _read(file: Path) -> GivenValues:
    """A file's values by row id."""
    try:
        found = json.loads(read_small(file, most=MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{file}: is not JSON ({first_line(error)})", "It maps each row id to its prediction"
        ) from error
    if not isinstance(found, dict):
        raise UserError(f"{file}: is not a JSON object", "It maps each row id to its prediction")
    return found
