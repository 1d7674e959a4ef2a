"""`finetune evaluate`: scores a trained model on a task, or on rows with the columns that it was trained on."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from finetune.analysis.table import NoteLine, Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, model_name, named_options
from finetune.api.parameters import Columns, DataFolder
from finetune.commands.evaluate.answers import Evaluation, are_answers, score_answers
from finetune.data.paths import is_data, require_here
from finetune.data.source import source_of
from finetune.errors import UserError, nearest
from finetune.inference.predict_plan import require_settings
from finetune.metrics.scores import in_words
from finetune.runs.lookup import near_files
from finetune.task_types.options import configured
from finetune.task_types.registry import find, in_file


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
        watch = stack.enter_context(here().working(f"{task}: loading {name}", model=name))
        from finetune.commands.evaluate.scoring import evaluate_model

        return evaluate_model(
            name, str(task), source=source_of(data_folder), out=Path(out), watch=watch, split=split, device=device,
            options=options,
        )  # fmt: skip


def _require_task(task: str) -> None:
    """Raises UserError for a data file that does not exist."""
    require_here(task)
    if Path(task).suffix and not (is_data(task) or in_file(task)):
        raise UserError(f"{task}: no such file", f"{nearest(task, near_files(task))}Name a data file or a task")


def as_json(found: Evaluation) -> Iterator[Mapping[str, Any]]:
    """The scores by split, and how many rows the model was trained on, if any."""
    yield {**found.scores, **({"shared": found.shared} if found.shared else {})}


def shown(found: Evaluation) -> Iterator[Part]:
    """The scores of each split; of saved predictions with three digits, as official scripts do."""
    metric = found.metric
    yield from (NoteLine(note, aside=True) for note in found.notes)
    if found.saved:
        for split, scores in found.scores.items():
            yield f"{split} " + ", ".join(f"{name} {metric(name).scaled(score):.3f}" for name, score in scores.items())
        return
    by_name = {found.file or split: scores for split, scores in found.scores.items()}
    yield in_words(by_name, metric) or "no labels, so no scores"
