"""Measures of a run's rows, which its model keeps, so that `check RUN FILE` can compare others with them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from finetune.inference.engine import Engine
from finetune.inference.shift.reference import Measurer, save_reference
from finetune.models.lora import merged
from finetune.runs.events import unwatched
from finetune.training.prepared_run import BuiltRun, PlannedRun
from finetune.training.record import TrainingResult


def shift_reference(
    planned: PlannedRun, built: BuiltRun, engine: Engine, trained: TrainingResult
) -> Callable[[Path], None]:
    """What writes the reference into a model's folder; nothing for an encoder that was pre-trained on text."""
    if built.model.head.pretrains:
        return lambda _: None
    task, (split, *_) = trained.found.task, planned.task.dev_splits
    measurer = Measurer(
        task=task, engine=replace(engine, watch=unwatched), tokenizer=built.tokenizer,
        max_length=planned.recipe.max_length,
    )  # fmt: skip
    answers = None if split in trained.learned else trained.found.answers[split]
    with merged(engine.model.backbone.encoder):
        found = measurer.reference(planned.train_rows, planned.rows[split], answers)
    return partial(save_reference, found)
