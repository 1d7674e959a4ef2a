"""Calibrated probabilities: a temperature fitted on dev, `predict RUN FILE temperature=dev`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.inference.exported.export_facts import ExportFacts
from finetune.inference.predictor import Predictor
from finetune.runs.lookup import named_run
from finetune.runs.record_files import load_record
from finetune.task_types.saved_predictions import run_predictions


def with_dev_temperature(predictor: Predictor, model: str, value: Any, *, out: Path) -> Predictor:
    """The predictor with a temperature fitted on its run's saved dev predictions.

    Raises UserError for a value other than `dev`, if the predictions are not available, and for tasks whose
    probabilities are not a softmax.
    """
    if value != "dev":
        raise UserError(f"'temperature' is {value!r}", "It can be dev: fitted on the dev predictions of the run")
    if predictor.exported is not None:
        return _at(predictor, _of_export(model, predictor.exported))
    folder = named_run(model, out)
    if folder is None:
        raise UserError(f"'{model}' is not a run, so it has no dev predictions", "Leave temperature=dev out")
    record = load_record(folder.record_file)
    table = run_predictions(record, folder, record.first_split)
    if table is None or table.temperature is None:
        raise UserError(
            f"temperature does not apply to {predictor.task.name}", "Leave it out: it is for single labels and choices"
        )
    return _at(predictor, table.temperature)


def _of_export(model: str, exported: ExportFacts) -> float:
    """The temperature that was fitted when the run was exported. Raises UserError where none was."""
    if exported.source.temperature is None:
        raise UserError(f"{model}: was exported without a temperature", f"Name its run: {exported.source.run}")
    return exported.source.temperature


def _at(predictor: Predictor, temperature: float) -> Predictor:
    fingerprint = f"{predictor.fingerprint} at {temperature!r}"  # of what may be resumed
    return replace(predictor, temperature=temperature, fingerprint=fingerprint)
