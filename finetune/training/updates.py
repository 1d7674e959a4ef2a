"""Training batches and updates: forward and backward passes of a batch in as many parts as memory needs, and a step.

Batches are a function of (data_seed, epoch), independent of the number of processes.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm
from torch.optim.lr_scheduler import LRScheduler

from finetune.data.messages import first_of
from finetune.data.rows import Row
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import Diverged
from finetune.models.device import is_out_of_memory
from finetune.models.feature import Feature, label_counts, lengths
from finetune.models.kernels import dropout
from finetune.runs import process
from finetune.runs.events import Note, Updates
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Progress
from finetune.training.passes import BatchPasses, GraphedPasses, Objective

POOL = 50  # batches sorted by length together: enough to save padding, few enough to stay random
ROWS_SHOWN = 3
DRAW = 1_000_003  # follows (data_seed, update) in the seed of what `draw` makes: dropout's is followed by a rank
Draw = Callable[[Sequence[Feature], np.random.Generator], Sequence[Feature]]


def no_masking(features: Sequence[Feature], _: np.random.Generator) -> Sequence[Feature]:
    """The default `draw`: the batch unchanged."""
    return features


def training_batches(
    sizes: Sequence[int] | np.ndarray, *, batch_size: int, data_seed: int, epoch: int
) -> list[np.ndarray]:
    """Batches of indices for one epoch: shuffled, sorted by length within pools, then the batches shuffled."""
    generator = np.random.default_rng([data_seed, epoch])
    order = generator.permutation(len(sizes))
    by_length = np.asarray(sizes)
    batches = []
    for start in range(0, len(order), POOL * batch_size):
        pool = order[start : start + POOL * batch_size]
        pool = pool[np.argsort(by_length[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


class Batches:
    """The batches of one epoch after another, by number of update from 0; `an_epoch` is the number in each."""

    def __init__(self, sizes: Sequence[int] | np.ndarray, *, batch_size: int, data_seed: int, updates: int) -> None:
        self.lengths, self.batch_size, self.data_seed, self.updates = sizes, batch_size, data_seed, updates
        self.an_epoch = math.ceil(len(sizes) / batch_size)
        self.epoch, self.batches = 0, list[np.ndarray]()

    def __len__(self) -> int:
        return self.updates

    def __getitem__(self, updates: slice) -> list[np.ndarray]:
        return [self._batch(update) for update in range(*updates.indices(self.updates))]

    def _batch(self, update: int) -> np.ndarray:
        epochs, place = divmod(update, self.an_epoch)
        if epochs + 1 != self.epoch:
            self.epoch = epochs + 1
            self.batches = training_batches(
                self.lengths, batch_size=self.batch_size, data_seed=self.data_seed, epoch=self.epoch
            )
        return self.batches[place]


def batches_of_rows(features: Sequence[Feature], settings: Train, data_seed: int) -> Batches:
    """The batches of all updates of these settings."""
    size = settings.batch_size
    updates = settings.updates or settings.epochs * math.ceil(len(features) / size)
    return Batches(lengths(features), batch_size=size, data_seed=data_seed, updates=updates)


def share(batch: range, *, rank: int, processes: int, parts: int) -> list[range]:
    """One process's rows of a batch, in `parts` for gradient accumulation. Over all processes, each row once.

    Interleaved, so that lengths spread evenly. A part may be empty if the batch is small.
    """
    return [batch[rank + processes * part :: processes * parts] for part in range(parts)]


@dataclass(kw_only=True)
class Updater:
    """Updates the weights of an engine's model; `model` and `optimizer` are those that Accelerate prepared.

    `rows` are the features' own, for messages. `draw` makes what is random in a batch from a generator that is a
    function of (data_seed, update), for the whole batch, before processes and accumulated parts share it. `objective`
    gives the losses, by default those of the head.
    """

    engine: Engine
    model: Any
    optimizer: Any
    schedule: LRScheduler
    settings: Train
    data_seed: int
    rows: Sequence[Row]
    draw: Draw
    objective: Objective | None

    def group(self, batches: Sequence[Sequence[Feature]], progress: Progress, *, epoch: int) -> None:
        """One update per batch, then reads their losses, which synchronises a GPU.

        A signal to stop ends the group early. Raises Diverged if a loss, gradient or weight is not finite, before they
        are scored or saved, and Stopping after the group if a signal has asked to stop, here or in another process.
        """
        started, accelerator = time.perf_counter(), self.engine.accelerator
        self.model.train()
        losses, norms, rates = list[Tensor](), list[Tensor](), list[float]()
        for batch in batches:
            rates.append(max(group["lr"] for group in self.optimizer.param_groups))
            generator = np.random.default_rng([self.data_seed, progress.update, DRAW])
            losses.append(self._loss(self.draw(batch, generator), progress))
            norms.append(self._step())
            progress.update += 1
            if process.asked() and accelerator.num_processes == 1:
                break
        asked = torch.tensor(float(process.asked()), device=losses[0].device)
        *values, asked_anywhere = accelerator.reduce(torch.stack([*losses, asked]), "sum").tolist()
        size = get_total_norm([p.detach() for p in self.passes.parameters if p.requires_grad])  # nan if any is
        *sizes, weights = torch.stack([*norms, size]).tolist()
        checked = (("loss", values), ("gradient's norm", sizes), ("norm of the weights", [weights]))
        for name, numbers in checked:
            wrong = next((index for index, number in enumerate(numbers) if not math.isfinite(number)), None)
            if wrong is not None:
                index = wrong if len(numbers) > 1 else len(values) - 1
                raise self._diverged(
                    f"the {name} is {numbers[wrong]} after update {progress.update - len(values) + index + 1}",
                    rates[index],
                    batches[index],
                )
        progress.losses += values
        seconds = time.perf_counter() - started
        progress.seconds += seconds
        shown = [float(f"{rate:.6g}") for rate in rates]
        self.engine.watch(Updates(update=progress.update, epoch=epoch, losses=values, seconds=seconds, rates=shown))
        if asked_anywhere:
            raise process.Stopping

    def _loss(self, batch: Sequence[Feature], progress: Progress) -> Tensor:
        """Backward pass of a batch; where memory runs out, again in twice as many parts, with a note.

        Parts do not change the update, except for rounding and dropout masks.
        """
        while True:
            parts = min(len(batch), progress.parts[-1][1] if progress.parts else self.settings.accumulation)
            try:
                loss = self._backward(batch, progress.update, parts)
                self._note(progress, *self.passes.notes)
                return loss
            except RuntimeError as error:  # torch's own class for GPUs is one, too
                if not is_out_of_memory(error) or self.engine.accelerator.num_processes > 1:
                    raise
                freed = self.passes.freed()
                if parts == len(batch) and not freed:
                    raise
            self.optimizer.zero_grad(set_to_none=True)
            if not freed:
                progress.parts.append((progress.update + 1, 2 * parts))
                now = f"batches go through the model in {2 * parts} parts"
                self._note(progress, f"out of memory at update {progress.update + 1}: {now}")

    def _note(self, progress: Progress, *texts: str) -> None:
        for text in texts:
            if text not in progress.notes:
                progress.notes.append(text)
                self.engine.watch(Note(text))

    def _backward(self, features: Sequence[Feature], update: int, parts: int) -> Tensor:
        """Backward pass of a batch in `parts`; returns this process's part of the mean loss over the whole batch.

        A loss is a sum over labels divided by their number in the whole batch, so that every label has equal weight
        whatever the sizes of processes' and accumulated parts. Several losses are added.
        """
        accelerator = self.engine.accelerator
        rank = accelerator.process_index
        _seed([self.data_seed, update, rank], accelerator.device)
        counts = {name: max(1, count) for name, count in label_counts(features).items()}
        shares = share(range(len(features)), rank=rank, processes=accelerator.num_processes, parts=parts)
        shares = [part for part in shares if len(part) or part is shares[0]]
        total = torch.zeros((), device=accelerator.device)
        for part in shares:
            # A process without rows still takes part (collectives need it), with a row of weight 0.
            weight, rows = (1.0, [features[i] for i in part]) if len(part) else (0.0, features[:1])
            with nullcontext() if part is shares[-1] else accelerator.no_sync(self.model):
                total += self.passes(self.engine.batch(rows), {name: weight / count for name, count in counts.items()})
        return total

    def _step(self) -> Tensor:
        """Clips and applies the gradient; returns its norm, or 0 where half precision overflowed.

        Then the step is skipped, which lowers the loss scale. Accelerate's `step_was_skipped` misses it if the
        optimizer itself skips the step, as torch's fused AdamW does.
        """
        accelerator = self.engine.accelerator
        accelerator.unscale_gradients(self.optimizer)
        norm = clip_grad_norm_(self.passes.parameters, self.settings.clip_norm)
        scaler = accelerator.scaler
        before = scaler and scaler.get_scale()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if scaler and scaler.get_scale() < before:
            return torch.zeros_like(norm)
        self.schedule.step()
        return norm

    @cached_property
    def passes(self) -> BatchPasses:
        """The passes of a part of a batch."""
        kind = GraphedPasses if self._has_graphs() else BatchPasses
        return kind(engine=self.engine, model=self.model, objective=self.objective)

    def _has_graphs(self) -> bool:
        """Whether CUDA graphs hold these passes: not those that are computed twice, or go through cuDNN's recurrent
        layers, whose buffers do not outlive a graph's making (measured: wrong addresses).
        """
        accelerator, model = self.engine.accelerator, self.engine.model
        plain = accelerator.num_processes == 1 and accelerator.scaler is None
        repeated = self.settings.gradient_checkpointing or any(isinstance(part, nn.RNNBase) for part in model.modules())
        return accelerator.device.type == "cuda" and plain and not repeated

    def _diverged(self, what: str, rate: float, batch: Sequence[Feature]) -> Diverged:
        rows = list(dict.fromkeys(feature.row for feature in batch))
        shown = first_of([repr(self.rows[row].id) if self.rows else str(row) for row in rows], ROWS_SHOWN)
        return Diverged(
            f"{what} (learning rate {rate:.3g}, rows {shown}): training has diverged",
            "Lower train.learning_rate, raise train.warmup, or look at these rows; earlier checkpoints are kept",
        )


def _seed(seeds: Sequence[int], device: torch.device) -> None:
    value = int(np.random.SeedSequence(seeds).generate_state(1)[0])
    if device.type == "cpu":
        torch.default_generator.manual_seed(value)
    else:  # of every device; where one is not there, torch formats the whole stack, each time
        torch.manual_seed(value)
    dropout.seed(value)
