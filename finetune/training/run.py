"""`run(resolved, options)`: from a recipe to a trained model, its scores and every prediction. Read this file first."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from finetune.errors import UserError
from finetune.inference.dev_claims import lines_view, save_claims
from finetune.inference.engine import Engine
from finetune.inference.hidden_states import with_states
from finetune.inference.predictor import settings_for_use
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.models.lora import merged, save_adapter
from finetune.models.model_folder import save_checkpoint
from finetune.models.tokenizers.load import tokenizer_hash
from finetune.runs.environment import versions
from finetune.runs.events import AlreadyDone, Done, EventLog, Note, Started, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import write_predictions
from finetune.runs.recipe_tables import CONTRASTIVE
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.record_parts import logged_seconds
from finetune.task_types.own_data import own_data
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.prepare import array_features, drawn_ids
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import save_keys
from finetune.task_types.view import Line, with_labels
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.compared import compared_models
from finetune.training.distil.lessons import Lessons, taught_features
from finetune.training.distil.objective import TaughtLosses, TaughtStates
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.first_look import PROBE, first_look, linear_probe
from finetune.training.meter import Meter
from finetune.training.prepared_run import BuiltRun, PlannedRun, build_run, plan_run
from finetune.training.record import TrainingResult, build_record
from finetune.training.run_options import RunOptions
from finetune.training.solvers import FEW_TO_LEARN, fit_contrastive, fit_logistic, fit_then_all, require_one_process
from finetune.training.trainer import Trainer


def run(resolved: ResolvedRun, options: RunOptions, *, watch: Watcher) -> RunRecord:
    """Trains, scores and saves one run, or returns its record if that is already there.

    An interrupted run resumes from its last checkpoint. Raises UserError for whatever a user can fix, before anything
    is written, and Interrupted after a signal.
    """
    started, force = time.perf_counter(), options.force
    planned = plan_run(resolved, source=options.source, device=options.device, watch=watch)
    folder = RunFolder.of(options.out, planned.task.name, planned.id)
    if not force and (done := folder.record()) is not None:
        return _already_done(folder, done, planned, watch)
    meter = Meter(planned.device)
    built = build_run(planned, watch)
    accelerator = build_accelerator(planned.device, planned.precision)
    if planned.recipe.train.solver == CONTRASTIVE:
        require_one_process(accelerator)
    main, wait = accelerator.is_main_process, options.wait and accelerator.num_processes == 1
    with folder.locked(wait=wait, watch=watch) if main else nullcontext():
        accelerator.wait_for_everyone()
        if not force and (done := folder.record()) is not None:  # finished by the process that had the lock
            return _already_done(folder, done, planned, watch)
        attempt = folder.attempt
        meter.earlier = logged_seconds(attempt.events) if main else 0.0
        log = EventLog(attempt.events, then=watch) if main else watch
        _announce(planned, built, folder, log)
        engine = Engine(model=built.model, accelerator=accelerator, pad_id=built.tokenizer.pad_token_id, watch=log)
        looked = first_look(planned, built, engine)
        for note in looked:
            log(Note(note))
        built = replace(built, notes=[*built.notes, *looked])
        checkpoints = Checkpoints(folder=attempt.checkpoints, writes=main, saving=options.saving)
        trained = _train(planned, built, engine, checkpoints, meter)
        if main:
            _save(planned, built, engine, trained, attempt, home=folder, started=started)
            checkpoints.delete()
            folder.publish()
            log = EventLog(folder.events, then=watch)
    accelerator.wait_for_everyone()
    record = load_record(folder.record_file)
    log(Done(folder=str(folder.path), scores=record.scores, seconds=record.seconds))
    return record


def _already_done(folder: RunFolder, record: RunRecord, planned: PlannedRun, watch: Watcher) -> RunRecord:
    """The record of a finished run, with what is found in the data now, as in a test file that is not scored; removes
    what a process left that was killed after writing it.
    """
    Checkpoints(folder=folder.checkpoints).delete()
    folder.clean()
    watch(AlreadyDone(folder=str(folder.path), then=record.versions, now=versions()))
    return record.model_copy(update={"findings": list(planned.findings)})


def _announce(planned: PlannedRun, built: BuiltRun, folder: RunFolder, log: Watcher) -> None:
    """Says what is trained, and what is unusual about it."""
    settings = planned.recipe.model_dump(exclude_defaults=True)
    log(Started(folder=str(folder.path), recipe=settings, device=str(planned.device)))
    for note in (*(finding.note for finding in planned.findings), *built.notes):
        log(Note(note))
    log(Working("computing the first update"))


def _train(
    planned: PlannedRun,
    built: BuiltRun,
    engine: Engine,
    checkpoints: Checkpoints,
    meter: Meter,
) -> TrainingResult:
    """Trains the model, or fits a solver on its hidden states, and predicts dev."""
    recipe, task = planned.recipe, planned.task
    features, objective = dict(built.features), None
    if planned.lessons is not None:
        features[task.train_split], objective = _taught(planned, planned.lessons, built, engine)
    if recipe.frozen and not built.model.reads_both:
        weights = ":".join([planned.weights.fingerprint, *map(str, recipe.keep_layers)])
        features = {
            split: with_states(given, engine, weights=weights, precision=planned.precision)
            for split, given in features.items()
        }
    every = DevEvaluation(task=task, rows=planned.rows, features={split: features[split] for split in task.dev_splits})
    dev = every.on(task.splits_in_training)
    trainer = Trainer(
        engine=engine, settings=recipe.train, data_seed=recipe.seeds[1], checkpoints=checkpoints,
        rows=planned.rows_learned, draw=task.draw,
        objective=objective,
    )  # fmt: skip
    drawn = _drawn_from_few(planned, features)
    progress, found = _fitted(trainer, features[task.train_split], dev, drawn=drawn)
    if objective is not None and objective.states is not None:
        objective.states.close()  # the model is predicted with, and saved, as it was
    with merged(engine.model.backbone.encoder):
        found = every.completed(engine, found)
    probe = linear_probe(planned, built, every.on(planned.own_splits), engine)
    return TrainingResult(
        progress=progress, evaluation=every, found=found, probe=probe, cost=meter.cost(engine.accelerator),
        compared=compared_models(planned, every, found, engine), learned=task.dev_splits[:1] if len(drawn) else (),
    )  # fmt: skip


def _save(
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
        write_predictions(attempt.predictions(split), lines, planned.task.official_files(answers, rows))
        first = first or lines
    use = settings_for_use(planned.built_recipe, found.task, planned.precision)
    save_checkpoint(built.model, attempt.model, built.tokenizer, use)
    if planned.recipe.adapter:
        save_adapter(built.model, attempt.model / "adapter", planned.recipe, base=planned.weights.loadable)
    save_keys(planned.task, [planned.rows_learned, *(planned.rows[split] for split in trained.learned)], attempt)
    watch(Working("scoring, with intervals"))
    record = build_record(planned, built, trained, baselines, engine.accelerator, started=started)
    save_claims(attempt.model, lines_view(planned.task, with_labels(first), tuple(built.model.head.labels)), record)
    home.require_locked()
    attempt.finish(record, planned.recipe, drawn_ids(planned.splits))


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


def _taught(
    planned: PlannedRun, lessons: Lessons, built: BuiltRun, engine: Engine
) -> tuple[Sequence[Feature], TaughtLosses]:
    """The features that have what a run learns besides labels, once teachers have answered, and their losses."""
    task = planned.task
    for note in lessons.notes:
        engine.watch(Note(note))
    text: Sequence[Feature] = ()
    if lessons.text:
        text = array_features(task, lessons.text, built.tokenizer, planned.recipe.max_length, engine.watch)
    answers = lessons.answers(task, planned.train_rows, engine.watch)
    features = taught_features(task, lessons, built.features[task.train_split], text, answers, len(planned.train_rows))
    states = _states(lessons, built, engine, seed=planned.recipe.seeds[0]) if lessons.settings.states else None
    learns = task.teaching.learns
    return features, TaughtLosses(head=engine.model.head, learns=learns, settings=lessons.settings, states=states)


def _states(lessons: Lessons, built: BuiltRun, engine: Engine, *, seed: int) -> TaughtStates:
    """What learns the teacher's layers. Raises UserError where these are of other tokens, or of several teachers."""
    if engine.accelerator.num_processes > 1:
        raise UserError("distil.states trains in one process", "Leave `processes` out, or distil.states")
    (teacher, *others) = lessons.teachers
    if others or tokenizer_hash(teacher.predictor.tokenizer) != tokenizer_hash(built.tokenizer):
        what = f"there are {len(others) + 1} teachers" if others else "teacher and student have other vocabularies"
        raise UserError(f"distil.states: {what}, and layers are learned token by token", "Leave distil.states out")
    own = replace(teacher).predictor.torch_engine.model  # another than that which answers, and whose speed is measured
    return TaughtStates(engine.model, own.backbone.encoder.to(engine.accelerator.device), seed)
