"""The rows that an export is checked with."""

from collections.abc import Sequence
from pathlib import Path

from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, named_run
from finetune.runs.predictions import read_predictions
from finetune.runs.record_files import load_record
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.prepare import load_splits
from finetune.task_types.task import Task


def run_to_export(model: str, out: Path) -> RunFolder | None:
    """The run that a name means, also by the folder of its model; None for a checkpoint without one."""
    return find_run(str(Path(model).parent), out) if Path(model).name == "model" else named_run(model, out)


def checked_rows(
    predictor: Predictor, run: RunFolder | None, source: Source, *, named: Task | None = None
) -> Sequence[Row]:
    """The rows of a run's first dev split, from its predictions; without a run those of the task's data.

    Raises UserError where they are not there: so for a model of a user's own data without its run, unless a task is
    `named`.
    """
    if run is None:
        if named is None and predictor.layout is not None:
            raise UserError(
                f"{predictor.folder} is a model without its run, whose dev rows an export is checked with",
                "Export the run where it was trained: finetune export RUN -o FOLDER",
            )
        split = predictor.task.dev_splits[0]
        return load_splits(predictor.task, source, names=[split])[split].rows
    lines = read_predictions(run.predictions(load_record(run.record_file).first_split), without=("n_best",))
    return [row_of_line(predictor.task, line, run.path) for line in lines]
