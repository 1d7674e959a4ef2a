"""`finetune.evaluate`: scores a trained model on a task, or on rows with the columns that it was trained on."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from finetune.api.evaluation import Evaluation
from finetune.api.inputs import in_memory, is_path, model_name, named_options
from finetune.api.quiet import plainly, quiet_for
from finetune.commands.evaluate.answers import are_answers, score_answers
from finetune.data.source import source_of
from finetune.runs.events import unwatched
from finetune.task_types.registry import find


@plainly
def evaluate(
    model: Any,
    task: Any,
    *,
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    encoding: str = "",
    sheet: str = "",
    split: str | None = None,
    data_folder: str | Path | None = None,
    device: str | None = None,
    out: str | Path = "results",
) -> Evaluation:
    """Scores a model on a task, or on rows with the columns that it was trained on; nothing is trained.

    Example: `finetune.evaluate(run.model, "mrpc")`, `finetune.evaluate(run, df)`

    Args:
        model: A run, a model, the name of a run, any fine-tuned checkpoint (folder or Hub name), or predictions by row
            id: a dictionary, a DataFrame with the columns `id` and `prediction`, or a JSON file.
        task: The name of a task, the path of a data file, or rows in memory as for `finetune.train`.
        text: The column or columns of the inputs, if they have other names than in training.
        label: The column of the labels, if it has another name than in training.
        encoding: The encoding of a data file, if it is not detected.
        sheet: The sheet of an Excel file; default: that of training if there is one of its name, else the first.
        split: Default: the task's dev splits.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        out: The folder of the runs that are named.

    Returns:
        The scores of each split with labels; those of rows in memory and of a file are the split `dev`.

    Raises:
        UserError: For an unknown model or task, rows without the model's columns, and rows without labels.
    """
    with ExitStack() as stack:
        if are_answers(model, task, Path(out)):
            return score_answers(find(task), model, source=source_of(data_folder), split=split)
        if not is_path(task):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            task = stack.enter_context(in_memory(task, folder))
        stack.enter_context(quiet_for(model_name(model)))
        from finetune.commands.evaluate.scoring import evaluate_model

        return evaluate_model(
            model_name(model), str(task), source=source_of(data_folder), out=Path(out), watch=unwatched, split=split,
            device=device, options=named_options(text=text, label=label, encoding=encoding, sheet=sheet),
        )  # fmt: skip
