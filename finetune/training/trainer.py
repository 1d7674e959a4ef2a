"""The loop over Accelerate: it knows features, batches and a model, and nothing of tasks.

Everything random in it is a function of (data_seed, update): the order of the rows from `batching`, dropout from a
generator seeded again for each update. So a run goes on from a checkpoint as if it had never stopped. The order does
not depend on the number of processes; the masks of dropout do, since each process draws those of its own rows.
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
from finetune.models.kernels import cpu
from finetune.runs.events import Watcher
from finetune.runs.recipe import Train
from finetune.training.batching import share, training_batches
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.optimizer import build_optimizer, build_schedule

LOSSES_AT_ONCE = 10  # updates between two looks at the loss: each look makes a GPU wait


class Paused(Exception):
    """Training stopped after an epoch as it was told to, its checkpoint saved; `headline` is the score by then."""

    def __init__(self, headline: float) -> None:
        self.headline = headline
        super().__init__(headline)


class Scored(Protocol):
    """What an evaluation on dev returns: the score that decides, and all scores by split and metric."""

    @property
    def headline(self) -> float:
        """The first metric of the first split."""

    @property
    def metric(self) -> Metric:
        """The metric that decides."""

    @property
    def scores(self) -> Scores:
        """By split and metric."""


Result = TypeVar("Result", bound=Scored)


@dataclass(kw_only=True)
class Trainer:
    """Fits an engine's model to features, on whatever devices and processes it has.

    With `pause_after` it stops after that epoch, to be resumed another time.
    """

    engine: Engine
    settings: Train
    data_seed: int
    checkpoints: Checkpoints | None = None
    pause_after: int | None = None

    @property
    def model(self) -> Model:
        """The one that is trained."""
        return self.engine.model

    @property
    def accelerator(self) -> Accelerator:
        """Where it is trained."""
        return self.engine.accelerator

    @property
    def watch(self) -> Watcher:
        """Who is told of updates and epochs."""
        return self.engine.watch

    def fit(self, features: Sequence[Feature], evaluate: Callable[[Engine], Result]) -> tuple[Progress, Result]:
        """Trains, and leaves the selected weights in the model.

        `evaluate` scores the model after each epoch. Returns how training went, and the scores of the selected
        weights. Raises Paused after the epoch `pause_after`, if it is not the last.
        """
        progress, result = Progress(), None
        updates_an_epoch = math.ceil(len(features) / self.settings.batch_size)
        updates = updates_an_epoch * self.settings.epochs
        optimizer = build_optimizer(self.model, self.settings)
        schedule = build_schedule(optimizer, self.settings, updates=updates)
        model, optimizer = self.accelerator.prepare(self.model, optimizer)
        # The schedule stays as it is: a prepared one would step once for each process.
        state = {"model": self.model, "optimizer": optimizer, "schedule": schedule}
        if self.accelerator.scaler is not None:
            state["scaler"] = self.accelerator.scaler
        if self.checkpoints is not None:
            progress = Progress(**(self.checkpoints.restore(state) or {}))
        self._pause_if_due(progress)
        self.watch(
            "training",
            updates=updates,
            done=progress.update,
            epochs=self.settings.epochs,
            examples=len(features),
        )
        for epoch in range(len(progress.epochs) + 1, self.settings.epochs + 1):
            if self._out_of_patience(progress):
                self.watch(
                    "note",
                    text=f"no better score for {self.settings.patience} epochs: training stops after epoch "
                    f"{epoch - 1}, with the weights of epoch {progress.selected_epoch}",
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
        """The batches of an epoch that are not done yet, in groups whose losses are looked at together."""
        batches = training_batches(
            [len(feature) for feature in features],
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
        """An update for each batch; then their losses.

        Raises Diverged where these, the gradients or the weights are not finite, before they are scored or saved.
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
        self.watch("updates", update=progress.update, epoch=epoch, losses=losses, seconds=seconds)

    def _pause_if_due(self, progress: Progress) -> None:
        if self.pause_after is not None and self.pause_after <= len(progress.epochs) < self.settings.epochs:
            raise Paused(progress.epochs[self.pause_after - 1]["headline"])

    def _out_of_patience(self, progress: Progress) -> bool:
        patience = self.settings.patience
        return patience is not None and len(progress.epochs) - progress.best_epoch >= patience

    def _stepped(self, optimizer: Any) -> bool:
        """Takes a step; False where it was skipped, since the gradient overflowed half precision.

        A skipped step lowers the scale of the loss. Accelerate's `step_was_skipped` misses it where the optimizer
        skips it itself, as torch's fused AdamW does.
        """
        scaler = self.accelerator.scaler
        if scaler is None:
            optimizer.step()
            return True
        before = scaler.get_scale()
        optimizer.step()
        return bool(scaler.get_scale() >= before)

    def _backward(self, model: Any, features: list[Feature], update: int) -> torch.Tensor:
        """The gradient of a batch; returns this process's part of the mean loss over the whole batch.

        The loss is a sum over labels divided by their number in the whole batch, so that processes and accumulated
        parts of unequal size weigh every label alike.
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
            # A process without a row still takes part, with a row whose loss counts nothing.
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
        headline, scores, rank = result.headline, result.scores, result.metric.rank
        loss = float(np.mean(progress.losses))
        progress.losses.clear()
        better = progress.best is None or rank(headline) > rank(progress.best)
        progress.epochs.append({"epoch": epoch, "loss": loss, "headline": headline, "scores": scores})
        if better:
            progress.best_epoch = epoch
            if self.settings.select == "best":
                progress.best_weights = {name: t.cpu().clone() for name, t in self.model.state_dict().items()}
        self.watch("epoch", epoch=epoch, loss=loss, scores=scores, headline=headline, best=progress.best)


def _seed(data_seed: int, update: int, rank: int) -> None:
    value = int(np.random.SeedSequence([data_seed, update, rank]).generate_state(1)[0])
    torch.manual_seed(value)
    cpu.seed(value)


def _largest_weight(model: Model) -> torch.Tensor:
    """By its absolute value, of those that are trained; nan where one is."""
    return get_total_norm([p.detach() for p in model.parameters() if p.requires_grad], math.inf)


def _marked(parts: list[np.ndarray]) -> Iterator[tuple[np.ndarray, bool]]:
    for index, part in enumerate(parts):
        yield part, index == len(parts) - 1
