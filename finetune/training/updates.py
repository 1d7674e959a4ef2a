"""Training batches, and updates: a batch goes forward and backward in as many parts as memory needs, then a step.

Batches are a function of (data_seed, epoch), whatever the number of processes.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
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
from finetune.models.feature import Feature, label_counts
from finetune.models.kernels import dropout
from finetune.runs import process
from finetune.runs.events import Note, Updates
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Progress
from finetune.training.passes import BatchPasses, GraphedPasses, Objective

POOL = 50  # batches sorted by length together: enough to save padding, few enough to stay random
ROWS_SHOWN = 3  # ids of rows in a message
DRAW = 1_000_003  # third number of the seed of `draw`; in the seed of dropout it is the process's rank
Draw = Callable[[Sequence[Feature], np.random.Generator], Sequence[Feature]]


def no_masking(features: Sequence[Feature], _: np.random.Generator) -> Sequence[Feature]:
    """The default `draw`: the batch unchanged."""
    return features


def training_batches(
    sizes: Sequence[int] | np.ndarray, *, batch_size: int, data_seed: int, epoch: int
) -> list[np.ndarray]:
    """Batches of feature indices for one epoch, each `(batch_size,)`: shuffled, sorted by length within pools, and
    the batches shuffled again.
    """
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
    """The batches of all epochs, a batch an update, counted from 0; `per_epoch` are in an epoch."""

    def __init__(self, sizes: Sequence[int] | np.ndarray, *, batch_size: int, data_seed: int, updates: int) -> None:
        self.updates, self.per_epoch = updates, math.ceil(len(sizes) / batch_size)
        batches = partial(training_batches, sizes, batch_size=batch_size, data_seed=data_seed)
        self.of_epoch = lru_cache(maxsize=1)(batches)

    def __len__(self) -> int:
        return self.updates

    def __getitem__(self, updates: slice) -> list[np.ndarray]:
        epochs = (divmod(update, self.per_epoch) for update in range(*updates.indices(self.updates)))
        return [self.of_epoch(epoch=epoch + 1)[index] for epoch, index in epochs]


def share(batch: range, *, rank: int, processes: int, parts: int) -> list[range]:
    """The rows of a batch that one process computes, in `parts` for gradient accumulation.

    Each row goes to one process. They are interleaved, so that lengths spread evenly; parts of a small batch may be
    empty.
    """
    return [batch[rank + processes * part :: processes * parts] for part in range(parts)]


@dataclass(kw_only=True)
class Updater:
    """Updates the weights of an engine's model; Accelerate prepared `model` and `optimizer`.

    `rows` are named in messages. `draw` changes a whole batch, such as by masking, before processes and accumulated
    parts share it; its generator is a function of (data_seed, update). `objective` gives the losses, by default the
    head's.
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
        """One update per batch; then reads their losses, for which the CPU waits for the GPU.

        Raises Diverged for a loss, gradient or weight that is not finite, before anything is scored or saved. Raises
        Stopping after a signal, in any process; in one process it ends the group early.
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
        weights_norm = get_total_norm([p.detach() for p in self.passes.parameters if p.requires_grad])  # nan if any is
        *gradient_norms, last = torch.stack([*norms, weights_norm]).tolist()
        weights_norms = [0.0] * (len(values) - 1) + [last]  # read after the last update alone
        checked = {"loss": values, "gradient's norm": gradient_norms, "norm of the weights": weights_norms}
        for name, numbers in checked.items():
            for index, number in enumerate(numbers):
                if not math.isfinite(number):
                    update = progress.update - len(values) + index + 1
                    raise self._diverged(f"the {name} is {number} after update {update}", rates[index], batches[index])
        progress.losses += values
        seconds = time.perf_counter() - started
        progress.seconds += seconds
        rounded = [float(f"{rate:.6g}") for rate in rates]
        self.engine.watch(Updates(update=progress.update, epoch=epoch, losses=values, seconds=seconds, rates=rounded))
        if asked_anywhere:
            raise process.Stopping

    def _loss(self, batch: Sequence[Feature], progress: Progress) -> Tensor:
        """The passes of a batch; where memory runs out, again in twice as many parts, with a note.

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
        """The passes of a batch in `parts`; returns this process's share of the mean loss over the whole batch.

        Each loss is summed over labels and divided by their number in the whole batch: every label has equal weight,
        whatever the sizes of the parts. Several losses are added.
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
        """Clips and applies the gradient; returns its norm, or 0 where half precision overflowed: no step is taken."""
        accelerator = self.engine.accelerator
        accelerator.unscale_gradients(self.optimizer)
        norm = clip_grad_norm_(self.passes.parameters, self.settings.clip_norm)
        scaler = accelerator.scaler
        scale = scaler and scaler.get_scale()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        # Accelerate's `step_was_skipped` misses steps that torch's fused AdamW skips itself; the scale tells them too.
        if scaler and scaler.get_scale() < scale:
            return torch.zeros_like(norm)
        self.schedule.step()
        return norm

    @cached_property
    def passes(self) -> BatchPasses:
        """Computes the losses and gradients of a part of a batch."""
        kind = GraphedPasses if self._has_graphs() else BatchPasses
        return kind(engine=self.engine, model=self.model, objective=self.objective)

    def _has_graphs(self) -> bool:
        accelerator, model = self.engine.accelerator, self.engine.model
        if accelerator.device.type != "cuda" or accelerator.num_processes > 1 or accelerator.scaler is not None:
            return False
        # cuDNN's recurrent layers have buffers that are freed after a graph is made (measured: wrong addresses).
        recurrent = any(isinstance(part, nn.RNNBase) for part in model.modules())
        return not (recurrent or self.settings.gradient_checkpointing)

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
    else:  # not on a CPU: torch also asks for devices that are not there, and formats the whole stack each time
        torch.manual_seed(value)
    dropout.seed(value)
