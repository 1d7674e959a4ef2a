"""A trial: the first updates of a run on a sample of its rows, for how long all of it would take; nothing is kept."""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.models.device import build_accelerator
from finetune.models.feature_arrays import lengths
from finetune.models.tokenizers.own_vocabulary import trained_size
from finetune.runs.events import Watcher, unwatched
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.batching import Batches
from finetune.training.checkpoints import Progress
from finetune.training.optimizer import build_optimizer
from finetune.training.prepared_run import BuiltRun, PlannedRun, build_run, plan_run
from finetune.training.schedules import build_schedule
from finetune.training.updates import Updater

TRIED = 5  # updates
BACKWARD = 3  # times the work of predicting


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run would take, from its first updates: `seconds` and `tokens` of all `updates`, and `evaluating` seconds.

    `pieces` is the number of inputs in an epoch; `rate` tokens per second in the `tried` updates; `trains` how many
    tokens a vocabulary has that the run trains first, else 0.
    """

    device: str
    trains: int
    tried: int
    updates: int
    pieces: int
    tokens: int
    rate: float
    seconds: float
    evaluating: float

    @property
    def minutes(self) -> float:
        """Of the whole run, without reading and tokenizing."""
        return (self.seconds + self.evaluating) / 60

    def as_json(self) -> dict[str, Any]:
        """Every field, and the minutes."""
        return asdict(self) | {"minutes": self.minutes}


def trial(
    planned: ResolvedRun, *, source: Source, sample: int, device: str | None = None, watch: Watcher = unwatched
) -> Estimate:
    """Trains a new model for a few updates, on at most `sample` rows of each split.

    Raises UserError as a run does before it trains.
    """
    recipe = planned.recipe
    limit = min(sample, recipe.limit or sample)
    sampled = replace(planned, recipe=recipe.model_copy(update={"limit": limit}))
    run = plan_run(sampled, source=source, device=device, watch=watch)
    built = build_run(run, watch)
    features = built.features[run.task.train_split]
    size = recipe.train.batch_size
    batches = Batches(lengths(features), batch_size=size, data_seed=recipe.seeds[1], updates=1 + TRIED)
    seconds = _seconds(run, built, batches)
    tokens = float(np.mean([lengths(features)[batch].sum() for batch in batches[1:]]))
    every = {split: _share(planned, split, source, limit) for split in run.rows}
    pieces = round(len(features) * every[run.task.train_split])
    length = recipe.train.lengthened(pieces)
    updates = length.updates or -(-pieces // size) * length.epochs
    scored = {
        split: float(lengths(built.features[split]).sum()) * every[split] * times
        for times, splits in ((1, run.task.dev_splits), (length.parts, run.task.splits_in_training))
        for split in splits
    }
    return Estimate(
        device=str(run.device),
        trains=trained_size(recipe),
        tried=TRIED,
        updates=updates,
        pieces=pieces,
        tokens=round(tokens * updates),
        rate=tokens / seconds,
        seconds=seconds * updates,
        evaluating=sum(scored.values()) / BACKWARD * seconds / tokens,
    )


def _seconds(run: PlannedRun, built: BuiltRun, batches: Batches) -> float:
    """Of an update: the mean of all but the first."""
    accelerator = build_accelerator(run.device, run.precision)
    engine = Engine(model=built.model, accelerator=accelerator, pad_id=built.tokenizer.pad_token_id, watch=unwatched)
    features, settings = built.features[run.task.train_split], run.recipe.train
    optimizer = build_optimizer(built.model, settings)
    width = built.model.backbone.config.hidden_size
    schedule = build_schedule(optimizer, settings, updates=len(batches), width=width)
    model, optimizer = accelerator.prepare(built.model, optimizer)
    updater = Updater(
        engine=engine, model=model, optimizer=optimizer, schedule=schedule, settings=settings,
        data_seed=run.recipe.seeds[1], rows=run.train_rows, draw=run.task.stream.draw,
    )  # fmt: skip
    progress = Progress()
    chosen = [[features[i] for i in batch] for batch in batches[:]]
    updater.group(chosen[:1], progress, epoch=1)
    started = time.perf_counter()
    updater.group(chosen[1:], progress, epoch=1)
    return (time.perf_counter() - started) / TRIED


def _share(planned: ResolvedRun, split: str, source: Source, limit: int) -> float:
    """How many times the rows of the sample a split has."""
    rows = len(planned.task.load(source, split).rows)
    return max(1.0, min(rows, planned.recipe.limit or rows) / limit)
