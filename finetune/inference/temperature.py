"""Calibrated probabilities: a temperature fitted on dev, `predict RUN FILE temperature=dev`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.inference.exported.export_facts import ExportFacts
from finetune.inference.predictor import Predictor
from finetune.metrics.temperature import fit_temperature
from finetune.runs.lookup import named_run
from finetune.runs.predictions import read_lines
from finetune.runs.record_files import load_record
from finetune.task_types.run_view import split_view_of
from finetune.task_types.types import type_of


def with_dev_temperature(predictor: Predictor, model: str, value: Any, *, out: Path) -> Predictor:
    """The predictor with a temperature fitted on its run's saved dev predictions.

    Raises UserError for a value other than `dev`, if the predictions are not available, and for tasks whose
    probabilities are not a softmax.
    """
    if value != "dev":
        raise UserError(f"'temperature' is {value!r}", "It can be dev: fitted on the dev predictions of the run")
    task = predictor.task
    kind = type_of(task)
    if kind is None or not kind.view.softmax:
        raise UserError(
            f"temperature does not apply to {task.name}", "Leave it out: it is for single labels and choices"
        )
    if predictor.exported is not None:
        return _at(predictor, _of_export(model, predictor.exported))
    folder = named_run(model, out)
    if folder is None:
        raise UserError(f"'{model}' is not a run, so it has no dev predictions", "Leave temperature=dev out")
    record = load_record(folder.record_file)
    split = record.first_split
    view = split_view_of(record, folder, split, read_lines(folder, split))
    chances = None if view is None else view.chances()
    if chances is None:
        raise UserError(
            f"{folder.predictions(split)}: has no labels with probabilities", "Run the recipe again with `force`"
        )
    return _at(predictor, fit_temperature(*chances))


def _of_export(model: str, exported: ExportFacts) -> float:
    """The temperature that was fitted when the run was exported. Raises UserError where none was."""
    if exported.source.temperature is None:
        raise UserError(f"{model}: was exported without a temperature", f"Name its run: {exported.source.run}")
    return exported.source.temperature


def _at(predictor: Predictor, temperature: float) -> Predictor:
    fingerprint = f"{predictor.fingerprint} at {temperature!r}"  # of what may be resumed
    return replace(predictor, temperature=temperature, fingerprint=fingerprint)
