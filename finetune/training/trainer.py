"""The training loop over Accelerate. It knows features, batches and a model, but no tasks.

All randomness is a function of (data_seed, update): the order of the rows from `batching`, dropout from a generator
that is reseeded for each update. So a run resumed from a checkpoint gives the same result as an uninterrupted one. The
order does not depend on the number of processes; dropout masks do, since each process draws those of its rows.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from accelerate import Accelerator
from torch.nn.utils import get_total_norm
from torch.optim.lr_scheduler import LRScheduler

from finetune.inference.engine import Diverged, Engine
from finetune.metrics.metric import Metric
from finetune.metrics.scores import Scores
from finetune.models.backbone import Model
from finetune.models.feature import Feature, label_count
from finetune.models.feature_arrays import lengths
from finetune.models.kernels import cpu
from finetune.runs.events import EpochDone, EpochResult, Note, Training, Updates, Watcher
from finetune.runs.recipe import Train
from finetune.training.batching import share, training_batches
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.optimizer import build_optimizer, build_schedule

LOSSES_AT_ONCE = 10  # updates between reads of the loss, each of which synchronises a GPU


class Paused(Exception):
    """Training stopped after the epoch `pause_after`, its checkpoint saved; `headline` is the score so far."""

    def __init__(self, headline: float) -> None:
        self.headline = headline
        super().__init__(headline)


class Scored(Protocol):
    """What an evaluation on dev returns: the headline score, and all scores."""

    @property
    def headline(self) -> float:
        """Score on the first split by the headline metric."""

    @property
    def metric(self) -> Metric:
        """The headline metric, which selects the best epoch."""

    @property
    def scores(self) -> Scores:
        """All scores by split and metric."""


Result = TypeVar("Result", bound=Scored)


@dataclass(kw_only=True)
class Trainer:
    """Trains an engine's model on features, on any devices and number of processes.

    With `pause_after` it stops after that epoch and can be resumed.
    """

    engine: Engine
    settings: Train
    data_seed: int
    checkpoints: Checkpoints | None = None
    pause_after: int | None = None

    @property
    def model(self) -> Model:
        """The engine's model."""
        return self.engine.model

    @property
    def accelerator(self) -> Accelerator:
        """The engine's accelerator."""
        return self.engine.accelerator

    @property
    def watch(self) -> Watcher:
        """Receives the events of updates and epochs."""
        return self.engine.watch

    def fit(self, features: Sequence[Feature], evaluate: Callable[[Engine], Result]) -> tuple[Progress, Result]:
        """Trains, and leaves the selected weights in the model.

        `evaluate` scores the model after each epoch. Returns the progress and the scores of the selected weights.
        Raises Paused after the epoch `pause_after`, if it is not the last.
        """
        progress, result = Progress(), None
        updates_an_epoch = math.ceil(len(features) / self.settings.batch_size)
        updates = updates_an_epoch * self.settings.epochs
        optimizer = build_optimizer(self.model, self.settings)
        schedule = build_schedule(optimizer, self.settings, updates=updates)
        model, optimizer = self.accelerator.prepare(self.model, optimizer)
        # The schedule is not prepared: a prepared one would step once per process.
        state = {"model": self.model, "optimizer": optimizer, "schedule": schedule}
        if self.accelerator.scaler is not None:
            state["scaler"] = self.accelerator.scaler
        if self.checkpoints is not None:
            progress = self.checkpoints.restore(state) or progress
        self._pause_if_due(progress)
        plan = Training(updates=updates, done=progress.update, epochs=self.settings.epochs, examples=len(features))
        self.watch(plan)
        for epoch in range(len(progress.epochs) + 1, self.settings.epochs + 1):
            if self._out_of_patience(progress):
                self.watch(
                    Note(
                        f"no better score for {self.settings.patience} epochs: training stops after epoch "
                        f"{epoch - 1}, with the weights of epoch {progress.selected_epoch}"
                    )
                )
                break
            done = progress.update - (epoch - 1) * updates_an_epoch
            for group in self._groups(features, epoch=epoch, done=done):
                self._train(group, model, optimizer, schedule, progress, epoch=epoch)
                if self.checkpoints is not None:
                    self.checkpoints.save_if_due(state, progress)
            result = evaluate(self.engine)
            self._end_epoch(epoch, result, progress)
            if self.checkpoints is not None:
                self.checkpoints.save(state, progress)
            self._pause_if_due(progress)
        if progress.best_weights is not None:
            self.model.load_state_dict(progress.best_weights)
        if result is None or progress.selected_epoch != len(progress.epochs):
            result = evaluate(self.engine)
        return progress, result

    def _groups(self, features: Sequence[Feature], *, epoch: int, done: int) -> Iterator[list[list[Feature]]]:
        """The remaining batches of an epoch, in groups whose losses are read together."""
        batches = training_batches(
            lengths(features),
            batch_size=self.settings.batch_size,
            data_seed=self.data_seed,
            epoch=epoch,
        )
        for start in range(done, len(batches), LOSSES_AT_ONCE):
            yield [[features[i] for i in batch] for batch in batches[start : start + LOSSES_AT_ONCE]]

    def _train(
        self,
        batches: list[list[Feature]],
        model: Any,
        optimizer: Any,
        schedule: LRScheduler,
        progress: Progress,
        *,
        epoch: int,
    ) -> None:
        """One update per batch, then reads their losses.

        Raises Diverged if losses, gradients or weights are not finite, before they are scored or saved.
        """
        started = time.perf_counter()
        parts, norms = [], []
        for batch in batches:
            parts.append(self._backward(model, batch, progress.update))
            norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
            if self._stepped(optimizer):
                schedule.step()
                norms.append(norm)
            optimizer.zero_grad(set_to_none=True)
            progress.update += 1
        losses = self.accelerator.reduce(torch.stack(parts), "sum").tolist()
        *sizes, largest = torch.stack([*norms, _largest_weight(self.model)]).tolist()
        for name, values in (("loss", losses), ("gradient's norm", sizes), ("largest weight", [largest])):
            if wrong := [value for value in values if not math.isfinite(value)]:
                raise Diverged(
                    f"the {name} is {wrong[-1]} after update {progress.update}: training has diverged",
                    "Lower train.learning_rate, or raise train.warmup",
                )
        seconds = time.perf_counter() - started
        progress.losses += losses
        progress.seconds += seconds
        self.watch(Updates(update=progress.update, epoch=epoch, losses=losses, seconds=seconds))

    def _pause_if_due(self, progress: Progress) -> None:
        if self.pause_after is not None and self.pause_after <= len(progress.epochs) < self.settings.epochs:
            raise Paused(progress.epochs[self.pause_after - 1].headline)

    def _out_of_patience(self, progress: Progress) -> bool:
        patience = self.settings.patience
        return patience is not None and len(progress.epochs) - progress.best_epoch >= patience

    def _stepped(self, optimizer: Any) -> bool:
        """Takes a step; returns False if it was skipped because the gradient overflowed half precision.

        A skipped step lowers the loss scale. Accelerate's `step_was_skipped` misses it if the optimizer itself skips
        the step, as torch's fused AdamW does.
        """
        scaler = self.accelerator.scaler
        if scaler is None:
            optimizer.step()
            return True
        before = scaler.get_scale()
        optimizer.step()
        return bool(scaler.get_scale() >= before)

    def _backward(self, model: Any, features: list[Feature], update: int) -> torch.Tensor:
        """Backward pass of a batch; returns this process's part of the mean loss over the whole batch.

        The loss is a sum over labels divided by their number in the whole batch, so that every label has equal weight
        whatever the sizes of processes' and accumulated parts.
        """
        accelerator = self.accelerator
        model.train()
        _seed(self.data_seed, update, accelerator.process_index)
        count = max(1, label_count(features))
        parts = share(
            np.arange(len(features)),
            rank=accelerator.process_index,
            processes=accelerator.num_processes,
            parts=self.settings.accumulation,
        )
        total = torch.zeros((), device=accelerator.device)
        for chosen, last in _marked([part for part in parts if len(part) or part is parts[0]]):
            # A process without rows still takes part (collectives need it), with a row of weight 0.
            weight, rows = (1.0, [features[i] for i in chosen]) if len(chosen) else (0.0, features[:1])
            with nullcontext() if last else accelerator.no_sync(model):
                with accelerator.autocast():
                    tensors = self.engine.batch(rows)
                    assert tensors.labels is not None  # as in every training set
                    loss = self.model.head.loss(model(*tensors.inputs()).float(), tensors.labels) * (weight / count)
                accelerator.backward(loss * accelerator.num_processes)
            total += loss.detach()
        return total

    def _end_epoch(self, epoch: int, result: Scored, progress: Progress) -> None:
        loss, rank = float(np.mean(progress.losses)), result.metric.rank
        done = EpochResult(epoch=epoch, loss=loss, headline=result.headline, scores=result.scores)
        progress.losses.clear()
        better = progress.best is None or rank(done.headline) > rank(progress.best)
        progress.epochs.append(done)
        if better:
            progress.best_epoch = epoch
            if self.settings.select == "best":
                progress.best_weights = {name: t.cpu().clone() for name, t in self.model.state_dict().items()}
        assert progress.best is not None  # set by the first epoch
        self.watch(EpochDone(result=done, best=progress.best))


def _seed(data_seed: int, update: int, rank: int) -> None:
    value = int(np.random.SeedSequence([data_seed, update, rank]).generate_state(1)[0])
    torch.manual_seed(value)
    cpu.seed(value)


def _largest_weight(model: Model) -> torch.Tensor:
    """Largest absolute value among trainable weights; nan if any is nan."""
    return get_total_norm([p.detach() for p in model.parameters() if p.requires_grad], math.inf)


def _marked(parts: list[np.ndarray]) -> Iterator[tuple[np.ndarray, bool]]:
    for index, part in enumerate(parts):
        yield part, index == len(parts) - 1
