"""Pre-training as `finetune run` does it, timed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import machine
import numpy as np
import torch
from measuring import Measurement, Meter, unscored
from torch.optim.optimizer import register_optimizer_step_post_hook

from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.runs.events import Event, Updates
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.parts import batch_maker
from finetune.task_types.resolved_run import resolved_run
from finetune.training.prepare import build_run, plan_run
from finetune.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class Job:
    """The same text and model for every contestant; the seed differs by round."""

    text: Path
    vocabulary: Path
    model: str
    updates: int
    batch_size: int
    length: int
    seed: int

    @property
    def recipe(self) -> Recipe:
        """Our run."""
        train = Train(
            updates=self.updates, batch_size=self.batch_size, learning_rate=1e-3, dropout=0.0, precision="fp32"
        )
        return Recipe(
            task=str(self.text), model=self.model, tokenizer=str(self.vocabulary), max_length=self.length,
            options={"shape": "text"}, seed=self.seed, train=train,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Result:
    """The timed updates, the share of masks in their time, and the most memory in bytes; first update in seconds."""

    measured: Measurement
    masks: float
    memory: int
    first_update: float


def train_ours(job: Job) -> Result:
    """Updates as in `finetune run`."""
    started, losses, drawing, firsts = time.perf_counter(), list[float](), [0.0], list[float]()
    planned = plan_run(resolved_run(job.recipe), source=Source(), device="cpu")
    build_run(planned)

    def draw(features: Sequence[Feature], generator: np.random.Generator) -> Sequence[Feature]:
        began = time.perf_counter()
        found = batch_maker(planned.task).draw(features, generator)
        drawing.append(time.perf_counter() - began)
        return found

    def watch(event: Event) -> None:
        if isinstance(event, Updates):
            firsts.append(time.perf_counter() - started)
            losses.extend(event.losses)

    meter = Meter(planned.model)
    register_optimizer_step_post_hook(lambda *_: meter.note_end())
    accelerator = build_accelerator(torch.device("cpu"), "fp32")
    engine = Engine(model=planned.model, accelerator=accelerator, pad_id=planned.tokenizer.pad_token_id, watch=watch)
    trainer = Trainer(engine=engine, settings=job.recipe.train, data_seed=job.seed, draw=draw)
    trainer.fit(planned.features[planned.task.train_split], unscored)
    found = meter.measurement(losses)
    masks = sum(drawing[-len(losses) :]) / (meter.ends[-1] - meter.ends[0]) if len(losses) > 1 else 0.0
    return Result(measured=found, masks=masks, memory=machine.memory()["VmHWM"], first_update=firsts[0])
