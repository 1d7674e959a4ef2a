"""`run(recipe)`: from a recipe to a trained model, its scores and every prediction. Read this file first."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.inference.hidden_states import with_states
from finetune.inference.predictor import settings_for_use
from finetune.models import pretrained
from finetune.models.device import build_accelerator, resolve_device, resolve_precision, set_deterministic
from finetune.models.families import family_notes
from finetune.models.feature import Feature
from finetune.models.saving import build_model, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.environment import versions
from finetune.runs.events import AlreadyDone, Done, EventLog, Note, Started, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import write_predictions
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord, data_fingerprint, load_record, run_id
from finetune.task_types import registry
from finetune.task_types.feature_cache import array_features
from finetune.task_types.options import changed_options, resolved
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.prepare import drawn_ids, load_splits
from finetune.task_types.task import Task
from finetune.task_types.train_share import with_share
from finetune.task_types.types import columns_of
from finetune.task_types.vocabulary import vocabulary_notes
from finetune.training.checkpoints import EVERY_FEW_MINUTES, Checkpoints, Saving
from finetune.training.evaluation import Evaluation
from finetune.training.logistic import fit_logistic, require_linear
from finetune.training.record import build_record
from finetune.training.trainer import Trainer


def run(
    recipe: Recipe,
    *,
    source: Source,
    out: Path,
    watch: Watcher,
    tasks: tuple[Task, Task] | None = None,
    device: str | None = None,
    force: bool = False,
    wait: bool = True,
    saving: Saving = EVERY_FEW_MINUTES,
    pause_after: int | None = None,
) -> RunRecord:
    """Trains, scores and saves one run under `out`, or returns its record if that is already there.

    An interrupted run resumes from its last checkpoint. One that another process trains is waited for, without `wait`
    it is an error. With `force` a finished run is trained again, and kept until the new one is finished. Raises
    UserError for whatever a user can fix, before anything is written, Paused after the epoch `pause_after`, and
    Interrupted after a signal.
    """
    started = time.perf_counter()
    where = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, where)
    set_deterministic(recipe.deterministic)
    default, task = tasks or resolved(recipe.task, recipe.options)
    files = pretrained.resolve(recipe.model)
    splits = load_splits(task, source, limit=recipe.limit)
    data = data_fingerprint({split: loaded.rows for split, loaded in splits.items()})
    splits[task.train_split] = with_share(task, splits[task.train_split], recipe.train_share, seed=recipe.seeds[1])
    rows = {split: loaded.rows for split, loaded in splits.items()}
    task = task.seen(rows[task.train_split])
    name = run_id(
        recipe, task=task.name, version=task.version, data=data, weights=files.fingerprint, precision=precision,
        options=changed_options(default, task), columns=columns_of(task), task_file=registry.file_hash(recipe.task),
    )  # fmt: skip
    folder = RunFolder.of(out, task.name, name)
    if not force and (done := folder.record()) is not None:
        return _already_done(folder, done, watch)

    model, new = build_model(files.folder, task.head, recipe, device=where)
    if recipe.train.solver == "logistic":
        require_linear(model, frozen=recipe.frozen)
    tokenizer = load_tokenizer(files.folder)
    unfit = vocabulary_notes(rows[task.train_split], tokenizer, recipe.model) + family_notes(model.backbone.config)
    splits[task.train_split] = replace(splits[task.train_split], notes=(*splits[task.train_split].notes, *unfit))
    contents = {split: f"{data}:{split}" for split in rows}
    if recipe.train_share < 1:
        contents[task.train_split] += f":{recipe.train_share}:{recipe.seeds[1]}"
    features: dict[str, Sequence[Feature]] = {
        split: array_features(
            task, some, tokenizer, recipe.max_length, model.backbone.config, content=contents[split], watch=watch
        )
        for split, some in rows.items()
    }
    accelerator = build_accelerator(where, precision)
    main, wait = accelerator.is_main_process, wait and accelerator.num_processes == 1
    with folder.locked(wait=wait, watch=watch) if main else nullcontext():
        accelerator.wait_for_everyone()
        if not force and (done := folder.record()) is not None:  # finished by the process that had the lock
            return _already_done(folder, done, watch)
        attempt = folder.attempt
        log = EventLog(attempt.events, then=watch) if main else watch
        settings = recipe.model_dump(exclude_defaults=True)
        log(Started(folder=str(folder.path), recipe=settings, device=str(where)))
        for note in unfit:
            log(Note(note))
        engine = Engine(model=model, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=log)
        checkpoints = Checkpoints(folder=attempt.checkpoints, writes=main, saving=saving)
        trainer = Trainer(
            engine=engine, settings=recipe.train, data_seed=recipe.seeds[1], checkpoints=checkpoints,
            pause_after=pause_after, rows=rows[task.train_split],
        )  # fmt: skip
        if recipe.frozen:
            features = {
                split: with_states(given, engine, weights=files.fingerprint, precision=precision)
                for split, given in features.items()
            }
        dev = Evaluation(task=task, rows=rows, features={split: features[split] for split in task.dev_splits})
        fit = partial(fit_logistic, engine) if recipe.train.solver == "logistic" else trainer.fit
        progress, found = fit(features[task.train_split], dev)
        if main:
            log(Working("predicting with the baselines"))
            baselines = dev.baselines(rows[task.train_split], found)
            log(Working("saving predictions and the model"))
            for split, answers in found.answers.items():
                lines = prediction_lines(task, rows[split], answers, baselines[split], splits[split].slices)
                write_predictions(attempt.predictions(split), lines, task.official_files(answers, rows[split]))
            save_checkpoint(model, attempt.model, tokenizer, settings_for_use(recipe, found.task, precision))
            log(Working("scoring, with intervals"))
            record = build_record(
                recipe, task, run=name, data=data, files=files, source=source, splits=splits, features=features,
                new_weights=new, accelerator=accelerator, precision=precision, progress=progress, evaluation=dev,
                found=found, scores=dev.official_scores(found), baselines=dev.score_all(baselines, found),
                margins=dev.margins(baselines, found), seconds=time.perf_counter() - started,
            )  # fmt: skip
            folder.require_locked()
            attempt.finish(record, recipe, drawn_ids(splits))
            checkpoints.delete()
            folder.publish()
            log = EventLog(folder.events, then=watch)
    accelerator.wait_for_everyone()
    record = load_record(folder.record_file)
    log(Done(folder=str(folder.path), scores=record.scores, seconds=record.seconds))
    return record


def _already_done(folder: RunFolder, record: RunRecord, watch: Watcher) -> RunRecord:
    """The record of a finished run; removes what a process left that was killed after writing it."""
    Checkpoints(folder=folder.checkpoints).delete()
    folder.clean()
    watch(AlreadyDone(folder=str(folder.path), then=record.versions, now=versions()))
    return record
