"""`run(recipe)`: from a recipe to a trained model, its scores and every prediction. Read this file first."""

import time
from contextlib import nullcontext
from pathlib import Path

import torch

from finetune import cpu, weights
from finetune import task as tasks
from finetune.device import build_accelerator, resolve_device, resolve_precision
from finetune.environment import versions
from finetune.events import EventLog, Watcher
from finetune.folder import RunFolder
from finetune.model import Model, load_backbone, save_checkpoint
from finetune.predictions import write_predictions
from finetune.prepare import encode, load_splits, load_tokenizer
from finetune.recipe import Recipe
from finetune.record import RunRecord, build_record, data_fingerprint, run_id
from finetune.resume import Checkpoints
from finetune.scoring import Evaluation, official_scores, score_all
from finetune.source import Source
from finetune.trainer import Trainer


def run(
    recipe: Recipe, *, source: Source, out: Path, watch: Watcher, device: str | None = None, force: bool = False
) -> RunRecord:
    """Trains, scores and saves one run under `out`, or returns its record if that is already there.

    A run that was interrupted goes on from its last checkpoint. Raises UserError for whatever a user can mend,
    before anything is written.
    """
    started = time.perf_counter()
    place = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, place)
    task = tasks.find(recipe.task)
    files = weights.resolve(recipe.model)
    splits = load_splits(task, source, limit=recipe.limit)
    rows = {split: loaded.rows for split, loaded in splits.items()}
    data = data_fingerprint(rows)
    name = run_id(recipe, task=task, data=data, weights=files.fingerprint, precision=precision)
    folder = RunFolder.of(out, task.name, name)
    if not force and (done := folder.record()) is not None:
        watch("already done", folder=str(folder.path), then=done.versions, now=versions())
        return done

    tokenizer = load_tokenizer(files.folder)
    init_seed, data_seed = recipe.seeds
    torch.manual_seed(init_seed)
    backbone, new_weights = load_backbone(files.folder, dropout=recipe.train.dropout)
    features = {split: encode(task, rows[split], tokenizer, recipe.max_length, backbone.config) for split in rows}
    model = Model(backbone, task.head(backbone))
    model.head.initialise()
    if place.type == "cpu":
        cpu.speed_up(model, backbone.encoder)

    accelerator = build_accelerator(place, precision)
    main = accelerator.is_main_process
    with folder.locked(anew=force) if main else nullcontext():
        watch = EventLog(folder.events, then=watch) if main else watch
        watch("start", folder=str(folder.path), recipe=recipe.model_dump(exclude_defaults=True), device=str(place))
        trainer = Trainer(
            model=model,
            settings=recipe.train,
            accelerator=accelerator,
            pad_id=tokenizer.pad_token_id,
            data_seed=data_seed,
            watch=watch,
            checkpoints=Checkpoints(folder.checkpoint, writes=main),
        )
        dev = {split: features[split] for split in task.dev_splits}
        evaluation = Evaluation(task=task, rows=rows, features=dev)
        progress = trainer.fit(features[task.train_split], evaluation)
        if progress.selected_epoch != len(progress.epochs) or not evaluation.answers:
            evaluation(trainer)  # the selected weights are not those that were scored last

        baselines = {split: task.baselines(rows[task.train_split], rows[split]) for split in dev}
        record = build_record(
            recipe=recipe,
            task=task,
            run=name,
            data=data,
            files=files,
            splits=splits,
            features=features,
            new_weights=new_weights,
            accelerator=accelerator,
            precision=precision,
            progress=progress,
            scores={split: official_scores(task, evaluation.answers[split], rows[split]) for split in dev},
            baselines={split: score_all(task, baselines[split], rows[split]) for split in dev},
            seconds=time.perf_counter() - started,
        )
        if main:
            for split in dev:
                write_predictions(folder.predictions(split), rows[split], evaluation.answers[split], baselines[split])
            save_checkpoint(model, folder.model, tokenizer, task=task.name, max_length=recipe.max_length)
            folder.finish(record, recipe)
        watch("done", folder=str(folder.path), scores=record.scores, seconds=record.seconds)
    return record
