"""Saves a trained run: predictions, model, claims, and last its record."""

from finetune.inference.dev_claims import lines_view, save_claims
from finetune.inference.engine import Engine
from finetune.inference.predictor import settings_for_use
from finetune.models.lora import save_adapter
from finetune.models.saving import save_checkpoint
from finetune.runs.events import Working
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import write_predictions
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.prepare import drawn_ids
from finetune.task_types.view import Line, with_labels
from finetune.training.first_look import PROBE
from finetune.training.prepared_run import BuiltRun, PlannedRun
from finetune.training.record import TrainingResult, build_record


def save_run(
    planned: PlannedRun,
    built: BuiltRun,
    engine: Engine,
    trained: TrainingResult,
    attempt: RunFolder,
    *,
    home: RunFolder,
    started: float,
) -> None:
    """Writes predictions, model and last the record into `attempt`, while `home`, where the run will be, is locked."""
    dev, found, watch = trained.evaluation, trained.found, engine.watch
    watch(Working("predicting with the baselines"))
    own = dev.on(planned.own_splits)
    baselines = own.baselines(planned.train_rows, found)
    for split, answers in trained.probe.items():
        baselines[split][PROBE] = answers
    baselines |= {} if planned.kept is None else planned.kept.baselines
    watch(Working("saving predictions and the model"))
    first: list[Line] = []
    for split, answers in found.answers.items():
        rows = planned.rows[split]
        lines = prediction_lines(planned.task, rows, answers, baselines[split], planned.splits[split].slices)
        write_predictions(attempt.predictions(split), lines, planned.task.codec.official_files(answers, rows))
        first = first or lines
    use = settings_for_use(planned.built_recipe, found.task, planned.precision)
    save_checkpoint(built.model, attempt.model, built.tokenizer, use)
    if planned.recipe.adapter:
        save_adapter(built.model, attempt.model / "adapter", planned.recipe, base=planned.weights.loadable)
    watch(Working("scoring, with intervals"))
    record = build_record(planned, built, trained, baselines, engine.accelerator, started=started)
    save_claims(attempt.model, lines_view(planned.task, with_labels(first), tuple(built.model.head.labels)), record)
    home.require_locked()
    attempt.finish(record, planned.recipe, drawn_ids(planned.splits))
