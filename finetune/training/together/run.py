"""`run_together(resolved, options)`: several tasks on one encoder, a head a task (MT-DNN, Liu et al. 2019, section 3).

Each task is planned, built and saved as one that is trained alone; between them all share the encoder's weights, and
each update is a batch of one task. The run's folder has the encoder, and is itself a results folder: of a run a task.
"""

import time
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from accelerate.utils import DistributedDataParallelKwargs
from torch import Tensor

from finetune.inference.engine import Engine
from finetune.models.batch import Batch
from finetune.models.device import build_accelerator
from finetune.models.saving import save_encoder
from finetune.runs.events import Note, Started, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.evaluation import DevEvaluation
from finetune.training.meter import Meter
from finetune.training.once import already_done, trained_once
from finetune.training.record import TrainingResult
from finetune.training.run_options import RunOptions
from finetune.training.save import save_run
from finetune.training.together.batches import batches_together
from finetune.training.together.dev import DevTogether, EvaluatedTogether, epochs_of, own_engines
from finetune.training.together.plan import BuiltTogether, PlannedTogether, build_together, plan_together
from finetune.training.together.record import record_together
from finetune.training.trainer import Trainer


def run_together(
    resolved: ResolvedRun, options: RunOptions, *, watch: Watcher, pause_after: int | None = None
) -> RunRecord:
    """Trains, scores and saves several tasks in one run, or returns its record if that is already there.

    Raises UserError, Paused and Interrupted as `run` does.
    """
    started = time.perf_counter()
    planned = plan_together(resolved, source=options.source, device=options.device, watch=watch)
    folder = RunFolder.of(options.out, planned.name, planned.id)
    if not options.force and (done := folder.record()) is not None:
        return already_done(folder, done, watch)
    meter = Meter(planned.device)
    built = build_together(planned, watch)
    accelerator = build_accelerator(planned.device, planned.precision)
    # An update leaves the other tasks' heads as they are, and a second process would wait for their gradients.
    accelerator.ddp_handler = DistributedDataParallelKwargs(find_unused_parameters=True)

    def train(attempt: RunFolder, log: Watcher) -> None:
        _announce(planned, built, folder, log)
        pad_id = built.members[0].tokenizer.pad_token_id
        engine = Engine(model=built.model, accelerator=accelerator, pad_id=pad_id, watch=log)
        checkpoints = Checkpoints(folder=attempt.checkpoints, writes=accelerator.is_main_process, saving=options.saving)
        progress, found = _trained(planned, built, engine, checkpoints, pause_after)
        trained = _of_each(planned, built, engine, progress, found, meter)
        if accelerator.is_main_process:
            _save(planned, built, engine, trained, progress, attempt, home=folder, started=started)

    return trained_once(folder, options, accelerator, meter, watch, train)


def _announce(planned: PlannedTogether, built: BuiltTogether, folder: RunFolder, log: Watcher) -> None:
    """Says what is trained, and what is unusual about it."""
    settings, device = planned.recipe.model_dump(exclude_defaults=True), str(planned.device)
    first = planned.members[0]
    log(
        Started(
            folder=str(folder.path), recipe=settings, device=device, data=planned.id, weights=first.weights.fingerprint
        )
    )
    for note in dict.fromkeys(chain.from_iterable(one.notes for one in built.members)):
        log(Note(note))
    log(Working("computing the first update"))


def _trained(
    planned: PlannedTogether, built: BuiltTogether, engine: Engine, checkpoints: Checkpoints, pause_after: int | None
) -> tuple[Progress, EvaluatedTogether]:
    """Trains all tasks, and predicts the dev splits of each."""
    dev = DevTogether(
        names=planned.names,
        each=[
            every.on(one.task.splits_in_training)
            for every, one in zip(_dev_of_each(planned, built), planned.members, strict=True)
        ],
    )
    recipe = planned.recipe

    def weighted(logits: Any, batch: Batch) -> dict[str, Tensor]:
        losses, factor = built.model.losses(logits, batch), planned.weights[batch.task or 0]
        return {name: factor * loss for name, loss in losses.items()}

    trainer = Trainer(
        engine=engine, settings=recipe.train, data_seed=recipe.seeds[1], checkpoints=checkpoints,
        pause_after=pause_after, rows=list(chain.from_iterable(one.train_rows for one in planned.members)),
        objective=weighted, order=partial(batches_together, recipe.together.sampling),
    )  # fmt: skip
    return trainer.fit(built.features, dev)


def _dev_of_each(planned: PlannedTogether, built: BuiltTogether) -> list[DevEvaluation]:
    """The evaluation of each task on all its dev splits."""
    return [
        DevEvaluation(
            task=one.task, rows=one.rows, features={split: own.features[split] for split in one.task.dev_splits}
        )
        for one, own in zip(planned.members, built.members, strict=True)
    ]


def _of_each(
    planned: PlannedTogether,
    built: BuiltTogether,
    engine: Engine,
    progress: Progress,
    found: EvaluatedTogether,
    meter: Meter,
) -> list[TrainingResult]:
    """What training gave to each task: its own scores by epoch, and the predictions of all its splits."""
    cost, results = meter.cost(engine.accelerator), []
    given = zip(_dev_of_each(planned, built), found.found, own_engines(engine), planned.names, strict=True)
    for every, one, own, name in given:
        mine = replace(progress, epochs=epochs_of(name, one.metrics[0].name, progress.epochs))
        complete = every.completed(own, one)
        results.append(TrainingResult(progress=mine, evaluation=every, found=complete, probe={}, cost=cost))
    return results


def _save(
    planned: PlannedTogether,
    built: BuiltTogether,
    engine: Engine,
    trained: list[TrainingResult],
    progress: Progress,
    attempt: RunFolder,
    *,
    home: RunFolder,
    started: float,
) -> None:
    """Saves each task as a run of its own in the folder, then the encoder, and last the record of all."""
    records = []
    for one, own, result, each in zip(planned.members, built.members, trained, own_engines(engine), strict=True):
        engine.watch(Working(f"saving {one.task.name}"))
        folder = RunFolder.of(attempt.path, one.task.name, one.id)
        folder.path.mkdir(parents=True, exist_ok=True)
        final = RunFolder.of(home.path, one.task.name, one.id)
        records.append(save_run(one, own, each, result, folder, replaces=home, home=final, started=started))
    first = max(built.members, key=lambda one: len(one.model.backbone.encoder.state_dict()))
    save_encoder(first.model.backbone.encoder, attempt.model, first.tokenizer)
    record = record_together(planned, built, records, progress, engine.accelerator, started=started)
    home.require_locked()
    attempt.finish(record, planned.recipe, {})
