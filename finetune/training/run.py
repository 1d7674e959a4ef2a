"""`run(resolved, options)`: from a recipe to a trained model, its scores and every prediction. Read this file first.

Every run goes the same way: plan, build, train, save. Optional parts are `Extra`s (`extras.py`): each gets the run at
six places, and this file knows none by name.
"""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from finetune.models.kernels.cpu import release_memory
from finetune.models.lora import merged
from finetune.models.saving import save_checkpoint
from finetune.runs.events import AlreadyDone, Done, EventLog, Note, Started, Watcher, Working, logged_seconds
from finetune.runs.folder import RunFolder, write_predictions
from finetune.runs.process import versions
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.options import option_values
from finetune.task_types.predictions import official_files, prediction_lines
from finetune.task_types.prepare import drawn_ids
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.saved_predictions import with_outcomes
from finetune.task_types.shared_rows import save_keys
from finetune.task_types.task import TEST
from finetune.task_types.types import layout_of
from finetune.training.checkpoints import Checkpoints
from finetune.training.extras import Extra, RunState
from finetune.training.forecast import forecast, require_time
from finetune.training.prepare import build_run, plan_run, prepare_training
from finetune.training.record import build_record, run_cost
from finetune.training.run_options import RunOptions


def run(
    resolved: ResolvedRun, options: RunOptions, *, watch: Watcher, extras: Sequence[Extra] | None = None
) -> RunRecord:
    """Trains, scores and saves one run; returns the existing record if the run is finished.

    An interrupted run resumes from its last checkpoint. By default the recipe decides the `extras`. Raises UserError
    before anything is written, and Interrupted after a signal.
    """
    started, force = time.perf_counter(), options.force
    state = plan_run(resolved, source=options.source, device=options.device, watch=watch, extras=extras)
    home = state.home = RunFolder.of(options.out, state.task.name, state.id)
    if not force and (record := home.record()) is not None:
        return _already_done(state, record)
    build_started = time.perf_counter()
    build_run(state)
    accelerator = state.accelerator
    main, wait = accelerator.is_main_process, options.wait and accelerator.num_processes == 1
    with home.locked(wait=wait, tell=lambda text: watch(Note(text))) if main else nullcontext():
        accelerator.wait_for_everyone()  # until the main process has the lock
        if not force and (record := home.record()) is not None:  # finished by the process that had the lock
            return _already_done(state, record)
        state.folder = home.attempt
        # Of interrupted attempts; all processes worked, and one logged.
        earlier_seconds = logged_seconds(state.folder.events) * accelerator.num_processes if main else 0.0
        state.watch = EventLog(state.folder.events, then=watch) if main else watch
        checkpoints = Checkpoints(folder=state.folder.checkpoints, writes=main, saving=options.saving)
        _train(state, checkpoints, options, started=started)
        state.facts["cost"] = run_cost(accelerator, time.perf_counter() - build_started + earlier_seconds)
        if main:
            _save(state, started=started)
            checkpoints.delete()
            home.publish()
            state.watch = EventLog(home.events, then=watch)  # publishing has moved the file
    accelerator.wait_for_everyone()
    record = load_record(home.record_file)
    state.watch(Done(folder=str(home.path), scores=record.scores, seconds=record.seconds))
    return record


def _already_done(state: RunState, record: RunRecord) -> RunRecord:
    """The record of a finished run, with today's findings in its data."""
    # What a process leaves that was killed after writing the record.
    Checkpoints(folder=state.home.checkpoints).delete()
    state.home.clean()
    state.watch(AlreadyDone(folder=str(state.home.path), then=record.versions, now=versions()))
    return record.model_copy(update={"findings": list(state.findings)})


def _train(state: RunState, checkpoints: Checkpoints, options: RunOptions, *, started: float) -> None:
    """Trains the model, and predicts the dev splits."""
    task, recipe, watch = state.task, state.recipe, state.watch
    settings = recipe.model_dump(exclude_defaults=True)
    watch(Started(folder=str(state.home.path), recipe=settings, device=str(state.device)))
    for note in (*(finding.note for finding in state.findings), *state.notes):
        watch(Note(note))
    trainer = replace(prepare_training(state), checkpoints=checkpoints)
    evaluation, features = state.evaluation, state.evaluation.features
    # The test split selects nothing, so it is predicted once, with the selected weights.
    dev = replace(evaluation, features={split: features[split] for split in features if split != TEST})
    told = None if checkpoints.exist else forecast(state, trainer, started=started)
    if told is not None:
        watch(told)
    if options.max_minutes is not None:
        train = recipe.train.lengthened(len(state.inputs[task.train_split]))
        require_time(told, options.max_minutes, train, len(state.train_rows), watch)
    state.progress, result = state.fit(trainer, state.inputs[task.train_split], dev)
    with merged(state.model.backbone.encoder):
        state.evaluated = evaluation(state.engine, result)
    for extra in state.extras:
        extra.after_scoring(state)


def _save(state: RunState, *, started: float) -> None:
    """Writes predictions, then the model, and last the record: it says that the run is finished."""
    task, evaluated, watch, attempt = state.task, state.evaluated, state.watch, state.folder
    release_memory()  # that the activations of training had
    baselines = state.evaluation.decided(state.cheap, evaluated)
    for split, methods in state.baselines.items():
        baselines[split] = baselines.get(split, {}) | methods
    watch(Working("saving predictions and the model"))
    for split, answers in evaluated.answers.items():
        rows = state.rows[split]
        plain = prediction_lines(task, rows, answers, baselines[split], state.splits[split].slices)
        lines = with_outcomes(evaluated.task, state.model.head.labels, plain)
        write_predictions(attempt.predictions(split), lines, official_files(task, answers, rows))
    save_checkpoint(state.model, attempt.model, state.tokenizer, _prediction_settings(state))
    save_keys(task, state.rows_learned, attempt)
    for extra in state.extras:
        extra.after_saving(state)
    watch(Working("scoring, with intervals"))
    record = build_record(state, baselines, started=started)
    state.home.require_locked()
    attempt.finish(record, state.recipe.to_toml(), drawn_ids(state.splits))


def _prediction_settings(state: RunState) -> dict[str, Any]:
    """The settings with which a saved model predicts as in its run: `finetune` in its config."""
    task, recipe = state.evaluated.task, state.built_recipe
    layout = layout_of(task)
    return {
        "task": task.name if layout else recipe.task,
        **({"layout": layout} if layout else {"inputs": task.inputs} if task.inputs else {}),
        **recipe.model_dump(include={"layers", "bilstm", "pooling"}, exclude_defaults=True),
        **({"bare": True} if recipe.train.solver == "logistic" else {}),
        "max_length": recipe.max_length,
        "precision": state.precision,
        "options": {name: value for name, value in option_values(task).items() if value is not None},
    }
