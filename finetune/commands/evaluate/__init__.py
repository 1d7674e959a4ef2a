"""`finetune evaluate`: scores a trained model, or saved predictions, on a task or on rows with its columns."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.analysis.table import NoteLine, Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, model_name, named_options
from finetune.api.parameters import Columns, DataFolder
from finetune.data.messages import first_of, so_many
from finetune.data.paths import is_data, read_small, require_here
from finetune.data.source import Source, source_of
from finetune.errors import UserError, first_line, nearest
from finetune.inference.predict_plan import require_settings
from finetune.metrics.metric import Scores, find_metric
from finetune.metrics.scores import in_words
from finetune.runs.folder import OLDER, PREDICTION
from finetune.runs.lookup import named_run, near_files
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import load_splits
from finetune.task_types.registry import find, in_file
from finetune.task_types.task import Task

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 1_000_000_000  # of a file of predictions
IDS_SHOWN = 3  # ids in a note
ID = "id"  # the column of row ids


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

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each split and metric."""
        import pandas as pd

        rows = [(split, name, score) for split, scores in self.scores.items() for name, score in scores.items()]
        return pd.DataFrame(rows, columns=["split", "metric", "score"])

    def words(self, scores: Scores) -> str:
        """Scores as they are shown: `dev f1 84.3, accuracy 77.0`."""
        return in_words(scores, lambda name: find_metric(name, self.task.metrics)) or "no labels, so no scores"

    def __repr__(self) -> str:
        return f"<Evaluation on {self.task.name}: {self.words(self.scores)}>"


@plainly
def evaluate(
    model: Any,
    task: Any,
    *,
    text: Columns = None,
    label: Columns = None,
    split: str | None = None,
    data_folder: DataFolder = None,
    out: str | Path = "results",
    device: str | None = None,
    **settings: Any,
) -> Evaluation:
    """Scores a model on a task, or on rows with the columns that it was trained on; nothing is trained.

    Example: `finetune.evaluate(run.model, "mrpc")`, `finetune.evaluate(run, df)`

    Args:
        model: A run, a model, the name of a run, any fine-tuned checkpoint (folder or Hub name), or predictions by row
            id: a dictionary, a DataFrame with the columns `id` and `prediction`, or a JSON file.
        task: The name of a task, the path of a data file, or rows in memory as for `finetune.run`.
        text: The column or columns of the inputs, if they have other names than in training.
        label: The column of the labels, if it has another name than in training.
        split: Default: the task's dev splits.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        out: The folder of the runs that are named.
        **settings: `encoding`, `sheet`, `spans` and `span_ends` of a data file; options of the task of predictions.

    Returns:
        The scores of each split with labels; those of rows in memory and of a file are the split `dev`.

    Raises:
        UserError: For an unknown model or task, rows without the model's columns, and rows without labels.
    """
    options = named_options(text=text, label=label, **settings)
    with ExitStack() as stack:
        if are_answers(model, task, Path(out)):
            scored = configured(find(task), settings)
            return score_answers(scored, model, source=source_of(data_folder), split=split)
        require_settings(options)
        if is_path(task):
            _require_task(str(task))
        else:
            task = stack.enter_context(in_memory(task, Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        name = model_name(model)
        watch = stack.enter_context(here().working(f"{task}: loading the model {name}", model=name))
        from finetune.commands.evaluate.scoring import evaluate_model

        return evaluate_model(
            name, str(task), source=source_of(data_folder), out=Path(out), watch=watch, split=split, device=device,
            options=options,
        )  # fmt: skip


def _require_task(task: str) -> None:
    require_here(task)
    if Path(task).suffix and not (is_data(task) or in_file(task)):
        raise UserError(f"{task}: no such file", f"{nearest(task, near_files(task))}Name a data file or a task")


def are_answers(model: Any, task: Any, out: Path) -> bool:
    """Whether predictions are given, in memory or in a JSON file, and no model."""
    if isinstance(model, Mapping) or hasattr(model, "columns"):
        return True
    file = is_path(model) and str(model).endswith(".json") and Path(model).is_file()
    return file and isinstance(task, str) and not is_data(task) and named_run(str(model), out) is None


def score_answers(task: Task, answers: Any, *, source: Source, split: str | None = None) -> Evaluation:
    """Scores of predictions on a split, its first dev split by default. They are given by row id: a dictionary, a JSON
    file, or a DataFrame with the columns `id` and `prediction`.

    For question answering, a missing prediction counts 0, as in the official script for SQuAD 1.1. Raises UserError for
    invalid predictions, for missing ones of another task, and for rows without labels.
    """
    import numpy as np

    split = split or task.dev_splits[0]
    loaded = load_splits(task, source, names=[split])[split]
    rows, labels = loaded.rows, task.labels_of(loaded.rows)
    if any(label.value is None for label in labels):
        raise UserError(f"{loaded.origin}: rows of the split '{split}' have no labels", "Choose another `split`")
    name, by_id = _named(answers, split)
    names = {row.id: row.id in by_id for row in rows}
    missing, extra = [row for row, present in names.items() if not present], [row for row in by_id if row not in names]
    lacks = f"{name}: has no prediction for {len(missing):,} of {so_many(len(rows))}"
    if missing and (not task.missing_is_wrong or len(missing) == len(rows)):
        raise UserError(
            f"{lacks}, first {missing[0]}",
            "Add them (an empty text means no answer), or choose the right `data_folder` and `split`",
        )
    for row, label in zip(rows, labels, strict=True):
        if row.id in by_id and not task.fits(by_id[row.id], row):
            what = f"{name}: the prediction for {row.id} is {by_id[row.id]!r}"
            raise UserError(what, f"A valid one is {label.value!r}")
    texts = {f"{lacks}, which count 0": missing, f"{name}: {so_many(len(extra), 'id')} unknown, ignored": extra}
    values = [Answer(value=by_id.get(row.id, "")) for row in rows]
    if missing:  # (0 without a prediction, 1 for the row)
        named, sums = np.array([[names[row.id], 1] for row in rows]), task.sums(values, rows)
        scores = {metric: replace(summed, counts=summed.counts * named).score for metric, summed in sums.items()}
    else:
        scores = task.score(values, rows)
    notes = tuple(f"{text} ({first_of(ids, IDS_SHOWN)})" for text, ids in texts.items() if ids)
    return Evaluation(task=task, scores={split: scores}, notes=notes, saved=True)


def _named(answers: Any, split: str) -> tuple[str, dict[str, Any]]:
    """A name for messages, and the values by row id; of a DataFrame with several splits, only one split."""
    if is_path(answers):
        try:
            by_id = json.loads(read_small(Path(answers), most=MOST_BYTES))
        except (ValueError, RecursionError) as error:
            why = f"{answers}: is not JSON ({first_line(error)})"
            raise UserError(why, "It maps each row id to its prediction") from error
        if not isinstance(by_id, dict):
            raise UserError(f"{answers}: is not a JSON object", "It maps each row id to its prediction")
        return str(answers), by_id
    name = "the predictions"
    if isinstance(answers, Mapping):
        return name, {str(row): value for row, value in answers.items()}
    columns = list(getattr(answers, "columns", ()))
    column = next((column for column in (PREDICTION, OLDER) if column in columns), "")
    if ID not in columns or not column:
        raise UserError(
            f"{name} are a {type(answers).__name__} without the columns '{ID}' and '{PREDICTION}'",
            "Give a dictionary from row id to prediction, a DataFrame with these columns, or a JSON file",
        )
    rows = answers[answers["split"] == split] if "split" in columns else answers
    if rows[ID].duplicated().any():
        twice = rows[ID][rows[ID].duplicated()].iloc[0]
        raise UserError(f"{name} have two rows with the id {twice}", "Give those of one run")
    return name, dict(zip(rows[ID].astype(str), rows[column], strict=True))


def as_json(evaluation: Evaluation) -> Iterator[Mapping[str, Any]]:
    """Split (`dev` of a data file), metric, score; or also `shared`: how many of the rows the model was trained on."""
    yield {**evaluation.scores, **({"shared": evaluation.shared} if evaluation.shared else {})}


def shown(evaluation: Evaluation) -> Iterator[Part]:
    """The scores of each split; of saved predictions with three digits, as official scripts do."""
    yield from (NoteLine(note, aside=True) for note in evaluation.notes)
    if not evaluation.saved:
        yield evaluation.words({evaluation.file or split: scores for split, scores in evaluation.scores.items()})
        return
    for split, scores in evaluation.scores.items():
        scaled = {name: find_metric(name, evaluation.task.metrics).scaled(score) for name, score in scores.items()}
        yield f"{split} " + ", ".join(f"{name} {score:.3f}" for name, score in scaled.items())
