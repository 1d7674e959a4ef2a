"""Training without a run's folder; logits and losses of transformers' own classes on our batches."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import torch

from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric, Scores
from finetune.metrics.scores import accuracy
from finetune.models.batch import Batch
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.runs.events import EpochDone, Event, Updates, Watcher, unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.run_options import Saving
from finetune.training.trainer import Trainer

CPU = torch.device("cpu")
PLAIN = Train(dropout=0.0, learning_rate=3e-3, epochs=13, batch_size=16)


def fit(
    task: Task,
    folder: Path,
    settings: Train,
    *,
    watch: Watcher = unwatched,
    checkpoint: Path | None = None,
    seeds: tuple[int, int] = (0, 0),
    **reading: Any,
) -> tuple[Trainer, Evaluated, Progress]:
    """What `run` does between rows and record, on the CPU: (trainer, its predictions on dev, progress)."""
    task = task.fit(task.load(Source(), "train").rows)
    trainer, features = build(task, folder, settings, watch=watch, checkpoint=checkpoint, seeds=seeds, **reading)
    rows = task.load(Source(), "dev").rows
    evaluation = DevEvaluation(task=task, rows={"dev": rows}, features={"dev": features})
    progress, found = trainer.fit(features, evaluation)
    return trainer, found, progress


def build(
    task: Task,
    folder: Path,
    settings: Train,
    *,
    watch: Watcher = unwatched,
    checkpoint: Path | None = None,
    seeds: tuple[int, int] = (0, 0),
    max_length: int = 32,
    device: torch.device = CPU,
    precision: str = "fp32",
    **reading: Any,
) -> tuple[Trainer, list[Feature]]:
    """A trainer with a new model, and the features of the training split. `reading` is a recipe's frozen, layers ..."""
    recipe = Recipe(task="any", train=settings, init_seed=seeds[0], data_seed=seeds[1], **reading)
    rows = task.load(Source(), "train").rows
    tokens = task.new_tokens(rows)
    model, _ = build_model(folder, task.head, recipe, device=device, tokens=tokens)
    tokenizer = load_tokenizer(folder)
    add_tokens(tokenizer, tokens)
    accelerator = build_accelerator(device, precision)
    engine = Engine(model=model, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch)
    trainer = Trainer(
        engine=engine,
        settings=settings,
        data_seed=seeds[1],
        checkpoints=None if checkpoint is None else Checkpoints(folder=checkpoint, saving=Saving(updates=1)),
    )
    return trainer, task.encode(rows, tokenizer, max_length)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The result of an evaluation that predicts nothing."""

    headline: float = 0.0
    metrics: Sequence[Metric] = (accuracy,)
    scores: Scores = field(default_factory=dict)
    loss: float | None = None


def unscored(_: Engine) -> Scored:
    """An evaluation that predicts nothing and gives every epoch the score 0."""
    return Scored()


class Losses:
    """A watcher that keeps the loss of every update."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Updates):
            self.values += event.losses


def logits_of(theirs: Any, batch: Batch) -> torch.Tensor:
    """What one of transformers' own classes makes of our batch, in the shape of our logits."""
    output = theirs(**named_inputs(theirs, batch))
    if batch.positions is not None:
        return output.logits[torch.arange(len(output.logits)).unsqueeze(1), batch.positions.clamp(min=0)]
    return torch.stack([output.start_logits, output.end_logits], -1) if "start_logits" in output else output.logits


def loss_of(theirs: Any, batch: Batch) -> torch.Tensor:
    """The loss of one of transformers' own classes, by its own code."""
    several = getattr(theirs.config, "problem_type", None) == "multi_label_classification"
    (target,) = batch.labels.values()
    labels = {"labels": target.float() if several else target}
    if batch.positions is not None:
        every = torch.full(batch.input_ids.shape, IGNORED)
        row, column = torch.nonzero(batch.positions >= 0, as_tuple=True)
        every[row, batch.positions[row, column]] = target[row, column]
        labels = {"labels": every}
    if "start_positions" in signature(theirs.forward).parameters:
        labels = {"start_positions": target[:, 0], "end_positions": target[:, 1]}
    loss: torch.Tensor = theirs(**named_inputs(theirs, batch), **labels).loss
    return loss


def named_inputs(theirs: Any, batch: Batch) -> dict[str, torch.Tensor]:
    """A batch as transformers' classes take it: choices in a dimension of their own, segments where there are some."""
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    if batch.token_type_ids is not None and "token_type_ids" in signature(theirs.forward).parameters:
        inputs["token_type_ids"] = batch.token_type_ids
    if batch.choices is None:
        return inputs
    return {name: tensor.unflatten(0, (len(batch.choices), -1)) for name, tensor in inputs.items()}


@dataclass(frozen=True)
class StopsAfter:
    """A watcher that stops training after an epoch as Ctrl-C does: with a checkpoint."""

    epoch: int
    then: Watcher = unwatched

    def __post_init__(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # processes of the background ignore it

    def __call__(self, event: Event) -> None:
        self.then(event)
        if isinstance(event, EpochDone) and event.result.epoch == self.epoch:
            signal.raise_signal(signal.SIGINT)
