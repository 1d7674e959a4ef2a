"""The training loop over Accelerate, with optimizer and schedule. It knows features, batches and a model, no tasks.

All randomness is a function of (data_seed, update): the order of the rows, and dropout, whose generator is seeded again
for each update. So a run that resumes from a checkpoint gives the same result as one without a break. The number of
processes does not change the order, but it changes dropout: each process draws the masks of its own rows.

The optimizer is AdamW with or without bias correction. Its weight decay is decoupled (Loshchilov and Hutter 2019): an
update subtracts the rate times `weight_decay` of each weight, which the moments do not see.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler
from transformers import get_scheduler

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.inference.engine import Engine
from finetune.models.fast_paths import used_rows_alone
from finetune.models.feature import Feature, lengths
from finetune.models.freezing import depths
from finetune.models.head import EncoderWithHead
from finetune.models.kernels.cpu import trim_memory
from finetune.models.lora import merged
from finetune.runs import process
from finetune.runs.events import EpochDone, EpochResult, Note, Training
from finetune.runs.recipe import Train
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.passes import Objective
from finetune.training.updates import Batches, Draw, Updater, no_masking

LOSSES_AT_ONCE = 10  # updates between reads of the losses, for which a GPU has to finish; an epoch begins with 1, 2, 4
BETAS = (0.9, 0.999)
Evaluate = Callable[[Engine], Any]  # returns an `Evaluated`, or an object with headline, metrics, scores and loss


@dataclass(kw_only=True)
class Trainer:
    """Trains an engine's model on features, on any devices and number of processes.

    `rows` are named in messages, `draw` makes the random parts of a batch (`Task.draw`), and `objective` gives the
    losses, by default the head's. Where the length of a run is in updates, an epoch is a tenth of them.
    """

    engine: Engine
    settings: Train
    data_seed: int
    checkpoints: Checkpoints | None = None
    rows: Sequence[Row] = ()
    draw: Draw = no_masking
    objective: Objective | None = None

    @property
    def model(self) -> EncoderWithHead:
        """The engine's model."""
        return self.engine.model

    def fit(self, features: Sequence[Feature], evaluate: Evaluate) -> tuple[Progress, Any]:
        """Trains, and leaves the selected weights in the model.

        `evaluate` scores the model after each epoch. Returns the progress and the scores of the selected weights.
        Raises Interrupted after a signal, once a checkpoint is written.
        """
        trim_memory()  # reading the data took some
        self.settings = self.settings.lengthened(len(features))
        with used_rows_alone(self.model, features, pad_id=self.engine.pad_id):
            return self._fit(features, evaluate)

    def _fit(self, features: Sequence[Feature], evaluate: Evaluate) -> tuple[Progress, Any]:
        accelerator, checkpoints = self.engine.accelerator, self.checkpoints
        optimizer = build_optimizer(self.model, self.settings)
        size = self.settings.batch_size
        updates = self.settings.updates or self.settings.epochs * math.ceil(len(features) / size)
        batches = Batches(lengths(features), batch_size=size, data_seed=self.data_seed, updates=updates)
        schedule = build_schedule(optimizer, self.settings, updates=updates)
        weights = TrainedWeights(self.model)
        # DistributedDataParallel, which wraps the model next, need not send frozen weights. There is no public way.
        ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
        ignore(self.model, sorted(weights.frozen))  # type: ignore[no-untyped-call]
        model, optimizer = accelerator.prepare(self.model, optimizer)
        # The schedule is not prepared: a prepared one would step once per process.
        state = {"model": weights, "optimizer": optimizer, "schedule": schedule}
        if accelerator.scaler is not None:
            state["scaler"] = accelerator.scaler
        updater = Updater(
            engine=self.engine, model=model, optimizer=optimizer, schedule=schedule, settings=self.settings,
            data_seed=self.data_seed, rows=self.rows, draw=self.draw, objective=self.objective,
        )  # fmt: skip
        progress = (checkpoints and checkpoints.restore(state, self.engine.watch)) or Progress()
        processes = accelerator.num_processes
        if processes > 1 and any(part.p for part in self.model.modules() if isinstance(part, nn.Dropout)):
            note = f"trained by {processes} processes with separate dropout masks: scores differ from a single process"
            progress.notes = list(dict.fromkeys([note, *progress.notes]))
        save_if_due = partial(checkpoints.save_if_due, state, progress) if checkpoints else lambda: None
        with process.deferred():
            try:
                return progress, self._epochs(features, batches, evaluate, updater, save_if_due, progress)
            except process.Stopping as stopping:
                if checkpoints is None:
                    raise process.Interrupted(stopping.number) from None
                checkpoints.save(state, progress)
                where = f"after update {progress.update}, with a checkpoint"
                raise process.Interrupted(stopping.number, where) from None

    def _epochs(
        self,
        features: Sequence[Feature],
        batches: Batches,
        evaluate: Evaluate,
        updater: Updater,
        save_if_due: Callable[[], None],
        progress: Progress,
    ) -> Any:
        """Trains the remaining epochs; returns the scores of the selected weights."""
        (unit, parts), result, patience = self.settings.parts, None, self.settings.patience
        examples, watch = round(len(features) * len(batches) / batches.per_epoch / parts), self.engine.watch
        watch(Training(updates=len(batches), done=progress.update, epochs=parts, examples=examples, unit=unit))
        for epoch in range(len(progress.epochs) + 1, parts + 1):
            if patience is not None and len(progress.epochs) - progress.best_epoch >= patience:
                ends = f"training stops after {unit} {epoch - 1}, with the weights of {unit} {progress.selected_epoch}"
                watch(Note(f"no better score for {so_many(patience, unit)}: {ends}"))
                break
            for group in self._groups(batches, start=progress.update, end=len(batches) * epoch // parts):
                updater.group([[features[i] for i in batch] for batch in group], progress, epoch=epoch)
                save_if_due()
            result = self._scored(evaluate)
            self._end_epoch(epoch, result, progress)
            self.engine.stop_if_asked_anywhere()
            save_if_due()
        if progress.best_weights is not None:
            TrainedWeights(self.model).load_state_dict(progress.best_weights)
        if result is None or progress.selected_epoch != len(progress.epochs):
            result = self._scored(evaluate)
        return result

    def _groups(self, batches: Batches, *, start: int, end: int) -> Iterator[list[np.ndarray]]:
        """The batches of updates `start` to `end`, in groups whose losses are read together."""
        size = 1
        while start < end:
            until_due = self.checkpoints and self.checkpoints.until_due(start)
            stop = min(end, start + min(size, until_due or size))
            yield batches[start:stop]
            start, size = stop, min(LOSSES_AT_ONCE, 2 * size)

    def _scored(self, evaluate: Evaluate) -> Any:
        try:
            # With LoRA merged, as the model is saved: in half precision the logits of the two differ.
            with merged(self.model.backbone.encoder):
                return evaluate(self.engine)
        except RuntimeError as error:
            if process.asked():  # another process has stopped for the same signal
                raise process.Stopping from error
            raise

    def _end_epoch(self, epoch: int, result: Any, progress: Progress) -> None:
        loss, rank = float(np.mean(progress.losses)), result.metrics[0].rank
        done = EpochResult(epoch=epoch, loss=loss, headline=result.headline, scores=result.scores, dev_loss=result.loss)
        progress.losses.clear()
        progress.epochs.append(done)
        best = progress.best
        if best is None or rank(done.headline) > rank(best):
            best, progress.best_epoch = done.headline, epoch
            if self.settings.select == "best":
                state = TrainedWeights(self.model).state_dict()
                progress.best_weights = {name: tensor.cpu().clone() for name, tensor in state.items()}
        self.engine.watch(EpochDone(result=done, best=best, metrics=result.metrics))


class TrainedWeights:
    """The state of a model without its frozen weights."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.frozen = {name for name, p in model.named_parameters(remove_duplicate=False) if not p.requires_grad}

    def state_dict(self) -> dict[str, Tensor]:
        """Trained weights and buffers by name."""
        return {name: tensor for name, tensor in self.model.state_dict().items() if name not in self.frozen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads trained weights and buffers. Raises RuntimeError for the state of another model."""
        missing, unknown = self.model.load_state_dict(state, strict=False)
        if wrong := [*unknown, *sorted(set(missing) - self.frozen)]:
            raise RuntimeError(f"weights of another model: {wrong[0]}")


def build_optimizer(model: EncoderWithHead, settings: Train) -> Optimizer:
    """AdamW (Devlin et al. 2019, A.2, and the original code): weight decay on matrices, none on biases and LayerNorm.

    `layer_decay` is the learning rate of a layer divided by the rate of the layer above (Howard and Ruder 2018, 3.2,
    "discriminative fine-tuning": they divide by 2.6, which is 0.385 here).
    """
    depth_of = dict.fromkeys((p for p in model.parameters() if p.requires_grad), 0)
    if settings.layer_decay < 1:
        depth_of |= {p: depth for p, depth in depths(model.backbone.encoder) if p.requires_grad}
    members: defaultdict[tuple[int, bool], list[nn.Parameter]] = defaultdict(list)
    for parameter, depth in depth_of.items():
        members[depth, parameter.ndim <= 1].append(parameter)
    rate, eps = settings.learning_rate, settings.adam_epsilon
    groups = [
        {
            "params": members[depth, is_vector],
            "weight_decay": 0.0 if is_vector else settings.weight_decay,
            "lr": rate * settings.layer_decay**depth,
        }
        for depth, is_vector in sorted(members)
    ]
    if settings.bias_correction:
        return AdamW(groups, lr=rate, betas=BETAS, eps=eps, fused=True)
    return UncorrectedAdamW(groups, lr=rate, eps=eps)


class UncorrectedAdamW(Optimizer):
    """AdamW without bias correction, as in the original BERT code: moments start at 0, so early updates are larger.

    m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v); p -= lr (m / (sqrt(v) + eps) + weight_decay p). It is a cause
    of failed runs on small data (Zhang et al. 2021; Mosbach et al. 2021).
    """

    def __init__(self, params: Iterable[dict[str, Any]], *, lr: float, eps: float) -> None:
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Updates every parameter that has a gradient."""
        beta1, beta2 = BETAS
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["m"].lerp_(p.grad, 1 - beta1)
                state["v"].lerp_(p.grad.square(), 1 - beta2)
                update = state["m"] / (state["v"].sqrt() + group["eps"])
                p.sub_(update.add_(p, alpha=group["weight_decay"]), alpha=group["lr"])


def build_schedule(optimizer: Optimizer, settings: Train, *, updates: int) -> LRScheduler:
    """Warm-up, then `settings.schedule`."""
    name = "constant_with_warmup" if settings.schedule == "constant" else settings.schedule
    return get_scheduler(name, optimizer, settings.warmup_updates(updates), updates)  # type: ignore[no-any-return]
