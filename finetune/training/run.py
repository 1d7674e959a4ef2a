"""`run(resolved, options)`: from a recipe to a trained model, its scores and every prediction. Read this file first."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from finetune.data.rows import StreamedRows
from finetune.errors import UserError
from finetune.inference.card.card import save_first_card
from finetune.inference.dev_claims import lines_view, save_claims
from finetune.inference.engine import Engine
from finetune.inference.hidden_states import with_states
from finetune.inference.predictor import settings_for_use
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.models.lora import merged, save_adapter
from finetune.models.saving import save_checkpoint
from finetune.runs.cost import logged_seconds
from finetune.runs.environment import versions
from finetune.runs.events import AlreadyDone, Done, EventLog, Note, Started, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.interrupted import same_but_for_facts
from finetune.runs.predictions import write_predictions
from finetune.runs.recipe_tables import CONTRASTIVE
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.training_rows import write_training_rows
from finetune.task_types.own_data import own_data
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.prepare import drawn_ids
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.view import Line, with_labels
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.compared import compared_models
from finetune.training.contrastive import FEW_TO_LEARN, fit_contrastive, fit_then_all, require_one_process
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.first_look import first_look
from finetune.training.linear_probe import NAME as PROBE
from finetune.training.linear_probe import linear_probe
from finetune.training.logistic import fit_logistic
from finetune.training.meter import Meter
from finetune.training.prepared_run import BuiltRun, PlannedRun, build_run, plan_run
from finetune.training.record import TrainingResult, build_record
from finetune.training.run_options import RunOptions
from finetune.training.shift_reference import shift_reference
from finetune.training.taught import taught
from finetune.training.trainer import Trainer


def run(resolved: ResolvedRun, options: RunOptions, *, watch: Watcher, pause_after: int | None = None) -> RunRecord:
    """Trains, scores and saves one run, or returns its record if that is already there.

    An interrupted run resumes from its last checkpoint. Raises UserError for whatever a user can fix, before anything
    is written, Paused after the epoch `pause_after`, and Interrupted after a signal.
    """
    started, force = time.perf_counter(), options.force
    planned = plan_run(resolved, source=options.source, device=options.device, watch=watch)
    folder = RunFolder.of(options.out, planned.task.name, planned.id)
    if not force and (done := folder.record()) is not None:
        return _already_done(folder, done, watch)
    if not force:
        _require_unchanged_text(planned, folder)
    meter = Meter(planned.device)
    built = build_run(planned, watch)
    accelerator = build_accelerator(planned.device, planned.precision)
    if planned.recipe.train.solver == CONTRASTIVE:
        require_one_process(accelerator)
    main, wait = accelerator.is_main_process, options.wait and accelerator.num_processes == 1
    with folder.locked(wait=wait, watch=watch) if main else nullcontext():
        accelerator.wait_for_everyone()
        if not force and (done := folder.record()) is not None:  # finished by the process that had the lock
            return _already_done(folder, done, watch)
        attempt = folder.attempt
        meter.earlier = logged_seconds(attempt.events) if main else 0.0
        log = EventLog(attempt.events, then=watch) if main else watch
        _announce(planned, built, folder, log)
        engine = Engine(model=built.model, accelerator=accelerator, pad_id=built.tokenizer.pad_token_id, watch=log)
        built = _looked_at(planned, built, engine)
        checkpoints = Checkpoints(folder=attempt.checkpoints, writes=main, saving=options.saving)
        trained = _train(planned, built, engine, checkpoints, meter, pause_after)
        if main:
            _save(planned, built, engine, trained, attempt, replaces=folder, started=started)
            checkpoints.delete()
            folder.publish()
            log = EventLog(folder.events, then=watch)
    accelerator.wait_for_everyone()
    record = load_record(folder.record_file)
    log(Done(folder=str(folder.path), scores=record.scores, seconds=record.seconds))
    return record


def _require_unchanged_text(planned: PlannedRun, folder: RunFolder) -> None:
    """Raises UserError where a run of the same settings was interrupted, and its text or model has changed since."""
    if not isinstance(planned.train_rows, StreamedRows):
        return
    found = same_but_for_facts(folder, planned.recipe.model_dump(exclude_defaults=True), _fingerprints(planned))
    if found is not None:
        other, changed = found
        what = "the model" if changed == ["weights"] else "the text"
        raise UserError(
            f"{planned.task.name}: {what} has changed since the run {other.path} began, which was interrupted",
            "Restore it to resume that run, or train on what is there now: `force`",
        )


def _fingerprints(planned: PlannedRun) -> dict[str, str]:
    """The facts of a run's start that are not settings, those of a new encoder its vocabulary's, so of the text too."""
    return {"data": planned.data, "weights": planned.weights.fingerprint}


def _announce(planned: PlannedRun, built: BuiltRun, folder: RunFolder, log: Watcher) -> None:
    """Says what is trained, and what is unusual about it."""
    settings = planned.recipe.model_dump(exclude_defaults=True)
    log(Started(folder=str(folder.path), recipe=settings, device=str(planned.device), **_fingerprints(planned)))
    for note in built.notes:
        log(Note(note))
    log(Working("computing the first update"))


def _looked_at(planned: PlannedRun, built: BuiltRun, engine: Engine) -> BuiltRun:
    """Adds a note on the scores of cheap methods, known before training."""
    found = first_look(planned, built, engine)
    for note in found:
        engine.watch(Note(note))
    return replace(built, notes=[*built.notes, *found])


def _train(
    planned: PlannedRun,
    built: BuiltRun,
    engine: Engine,
    checkpoints: Checkpoints,
    meter: Meter,
    pause_after: int | None,
) -> TrainingResult:
    """Trains the model, or fits a solver on its hidden states, and predicts dev."""
    recipe, task = planned.recipe, planned.task
    lesson = taught(planned, built, engine)
    features = {**built.features, **({} if lesson is None else {task.train_split: lesson.features})}
    if recipe.frozen:
        weights = ":".join([planned.weights.fingerprint, *map(str, recipe.keep_layers)])
        features = {
            split: with_states(given, engine, weights=weights, precision=planned.precision)
            for split, given in features.items()
        }
    every = DevEvaluation(task=task, rows=planned.rows, features={split: features[split] for split in task.dev_splits})
    dev = every.on(task.splits_in_training)
    trainer = Trainer(
        engine=engine, settings=recipe.train, data_seed=recipe.seeds[1], checkpoints=checkpoints,
        pause_after=pause_after, rows=planned.rows_learned, draw=task.stream.draw,
        objective=None if lesson is None else lesson.objective,
    )  # fmt: skip
    drawn = _drawn_from_few(planned, features)
    progress, found = _fitted(trainer, features[task.train_split], dev, drawn=drawn)
    if lesson is not None:
        lesson.end()
    with merged(engine.model.backbone.encoder):
        found = every.completed(engine, found)
    probe = linear_probe(planned, built, every.on(planned.own_splits), engine)
    return TrainingResult(
        progress=progress, evaluation=every, found=found, probe=probe, cost=meter.cost(engine.accelerator),
        compared=compared_models(planned, every, found, engine), learned=task.dev_splits[:1] if len(drawn) else (),
    )  # fmt: skip


def _fitted(
    trainer: Trainer, features: Sequence[Feature], dev: DevEvaluation, *, drawn: Sequence[Feature]
) -> tuple[Progress, Evaluated]:
    """Trains by the recipe's solver; `drawn` are the features of dev that are learned too, once they are scored."""
    if trainer.settings.solver == "logistic":
        return fit_logistic(trainer.engine, features, dev)
    if trainer.settings.solver == CONTRASTIVE and len(drawn):
        return fit_then_all(trainer, features, drawn, dev)
    if trainer.settings.solver == CONTRASTIVE:
        return fit_contrastive(trainer, features, dev)
    return trainer.fit(features, dev)


def _drawn_from_few(planned: PlannedRun, features: Mapping[str, Sequence[Feature]]) -> Sequence[Feature]:
    """The features of dev where its rows were drawn from the few of the user, for a contrastive step; else empty."""
    if planned.recipe.train.solver != CONTRASTIVE:
        return ()
    read, first = own_data(planned.task), planned.task.dev_splits[0]
    few = len(planned.train_rows) + len(planned.rows[first]) < FEW_TO_LEARN
    drawn = read is not None and "dev" not in read.files and first == "dev"
    return features[first] if drawn and few else ()


def _save(
    planned: PlannedRun,
    built: BuiltRun,
    engine: Engine,
    trained: TrainingResult,
    attempt: RunFolder,
    *,
    replaces: RunFolder,
    started: float,
) -> None:
    """Writes predictions, model and last the record into `attempt`, while the folder that it replaces is locked."""
    dev, found, watch = trained.evaluation, trained.found, engine.watch
    watch(Working("predicting with the baselines"))
    own = dev.on(planned.own_splits)
    baselines = own.baselines(planned.train_rows, found, train_features=built.features[planned.task.train_split])
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
    _save_training_rows(planned, trained, attempt)
    use = settings_for_use(planned.built_recipe, found.task, planned.precision)
    more = shift_reference(planned, built, engine, trained)
    save_checkpoint(built.model, attempt.model, built.tokenizer, use, more=more)
    if planned.recipe.adapter:
        save_adapter(built.model, attempt.model / "adapter", planned.recipe, base=planned.weights.loadable)
    watch(Working("scoring, with intervals"))
    record = build_record(planned, built, trained, baselines, engine.accelerator, started=started)
    save_claims(attempt.model, lines_view(planned.task, with_labels(first), tuple(built.model.head.labels)), record)
    save_first_card(attempt, record, home=replaces.path, watch=watch)
    replaces.require_locked()
    attempt.finish(record, planned.recipe, drawn_ids(planned.splits))


def _save_training_rows(planned: PlannedRun, trained: TrainingResult, attempt: RunFolder) -> None:
    """Writes what training saw of each row's label, where it is known."""
    if not (found := trained.progress.chances):
        return
    rows = planned.train_rows
    labels = [str(label.value) for label in planned.task.scoring.labels(rows)]
    texts, ids = [row.input for row in rows], [row.id for row in rows]
    write_training_rows(attempt.training_rows, ids, texts, labels, np.stack([one.numpy() for one in found], axis=1))


def _already_done(folder: RunFolder, record: RunRecord, watch: Watcher) -> RunRecord:
    """The record of a finished run; removes what a process left that was killed after writing it."""
    Checkpoints(folder=folder.checkpoints).delete()
    folder.clean()
    watch(AlreadyDone(folder=str(folder.path), then=record.versions, now=versions()))
    return record
