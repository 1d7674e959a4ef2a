"""The rows that an export is checked with, and those that int8 is scaled by."""

from collections.abc import Sequence
from pathlib import Path

from finetune.data.rows import Row
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, named_run
from finetune.runs.predictions import read_predictions
from finetune.runs.recipe import load_recipe
from finetune.runs.record_files import load_record
from finetune.task_types.options import option_names
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.prepare import load_splits
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.task import Task

SCALED_BY = 300  # training rows that int8 is scaled by


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


def calibration_rows(predictor: Predictor, run: RunFolder | None, source: Source) -> Sequence[Row]:
    """Some training rows, from all parts of the file. Raises UserError where their data is not there any more."""
    task, limit = predictor.task, None
    try:
        if run is not None:
            recipe = load_recipe(run.path / "recipe.toml", options=option_names)
            task, limit = resolved_run(recipe).task, recipe.limit
        rows = load_splits(task, source, limit=limit, names=[task.train_split])[task.train_split].rows
    except UserError as error:
        raise UserError(
            f"int8 for OpenVINO is scaled by training rows, which are not there ({error.what})",
            "Restore them, or leave `engine` out: int8 in ONNX needs none",
        ) from error
    return rows[:: max(1, len(rows) // SCALED_BY)][:SCALED_BY]
