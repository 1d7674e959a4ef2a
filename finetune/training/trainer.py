"""The training loop over Accelerate. It knows features, batches and a model, but no tasks.

All randomness is a function of (data_seed, update): the order of the rows from `batching`, dropout from a generator
that is reseeded for each update. So a run resumed from a checkpoint gives the same result as an uninterrupted one. The
order does not depend on the number of processes; dropout masks do, since each process draws those of its rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric, Scores
from finetune.models.fast_paths import used_rows_alone
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead
from finetune.models.kernels.cpu import trim_memory
from finetune.models.lora import merged
from finetune.runs import interrupts
from finetune.runs.events import EpochDone, EpochResult, Note, Training, Watcher
from finetune.runs.recipe_tables import Train
from finetune.training.batching import Batches, batches_of_rows
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.optimizer import build_optimizer, build_schedule
from finetune.training.passes import Objective
from finetune.training.updates import Draw, Updater, no_masking

LOSSES_AT_ONCE = 10  # updates between reads of the loss, each of which synchronises a GPU; in an epoch 1, 2, 4 first


class Scored(Protocol):
    """What an evaluation on dev returns: the headline score, and all scores."""

    @property
    def headline(self) -> float:
        """Score on the first split by the headline metric."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics; the first, the headline metric, selects the best epoch."""

    @property
    def scores(self) -> Scores:
        """All scores by split and metric."""

    @property
    def loss(self) -> float | None:
        """Mean loss of a label of the first split; None where it is unknown."""


Result = TypeVar("Result", bound=Scored)


@dataclass(kw_only=True)
class Trainer:
    """Trains an engine's model on features, on any devices and number of processes.

    `rows` are the features' own, for messages, `draw` makes what is random in a batch (`Task.draw`), and `objective`
    is what is learned, by default the labels. Of a run whose length is in updates an epoch is a tenth.
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
        Raises Interrupted after a signal to stop, with a checkpoint.
        """
        trim_memory()  # that reading the data had
        self.settings = self.settings.lengthened(len(features))
        with used_rows_alone(self.model, features, pad_id=self.engine.pad_id):
            return self._fit(features, evaluate)

    def _fit(self, features: Sequence[Feature], evaluate: Callable[[Engine], Result]) -> tuple[Progress, Result]:
        """The same of the model as it is."""
        optimizer = build_optimizer(self.model, self.settings)
        batches = batches_of_rows(features, self.settings, self.data_seed)
        schedule = build_schedule(optimizer, self.settings, updates=len(batches))
        weights = TrainedWeights(self.model)
        weights.leave_out_of_ddp()
        model, optimizer = self.accelerator.prepare(self.model, optimizer)
        # The schedule is not prepared: a prepared one would step once per process.
        state = {"model": weights, "optimizer": optimizer, "schedule": schedule}
        if self.accelerator.scaler is not None:
            state["scaler"] = self.accelerator.scaler
        updater = Updater(
            engine=self.engine, model=model, optimizer=optimizer, schedule=schedule, settings=self.settings,
            data_seed=self.data_seed, rows=self.rows, draw=self.draw, objective=self.objective,
        )  # fmt: skip
        progress = (self.checkpoints and self.checkpoints.restore(state, self.watch)) or Progress()
        processes = self.accelerator.num_processes
        if processes > 1 and any(part.p for part in self.model.modules() if isinstance(part, nn.Dropout)):
            note = f"trained by {processes} processes with separate dropout masks: scores differ from a single process"
            progress.notes = list(dict.fromkeys([note, *progress.notes]))
        with interrupts.deferred():
            try:
                return progress, self._train(features, batches, evaluate, updater, state, progress)
            except interrupts.Stopping as stopping:
                raise self._interrupted(stopping, state, progress) from None

    def _train(
        self,
        features: Sequence[Feature],
        batches: Batches,
        evaluate: Callable[[Engine], Result],
        updater: Updater,
        state: dict[str, Any],
        progress: Progress,
    ) -> Result:
        """The remaining epochs, and the scores of the selected weights."""
        result, parts, unit, patience = None, self.settings.parts, self.settings.part, self.settings.patience
        examples = round(len(features) * len(batches) / batches.an_epoch / parts)
        self.watch(Training(updates=len(batches), done=progress.update, epochs=parts, examples=examples, unit=unit))
        for epoch in range(len(progress.epochs) + 1, parts + 1):
            if patience is not None and len(progress.epochs) - progress.best_epoch >= patience:
                kept = f"training stops after {unit} {epoch - 1}, with the weights of {unit} {progress.selected_epoch}"
                self.watch(Note(f"no better score for {so_many(patience, unit)}: {kept}"))
                break
            for group in self._groups(batches, start=progress.update, end=len(batches) * epoch // parts):
                updater.group([[features[i] for i in batch] for batch in group], progress, epoch=epoch)
                if self.checkpoints is not None:
                    self.checkpoints.save_if_due(state, progress)
            result = self._evaluated(evaluate)
            self._end_epoch(epoch, result, progress)
            self.engine.stop_if_asked_anywhere()
            if self.checkpoints is not None:
                self.checkpoints.save_if_due(state, progress)
        if progress.best_weights is not None:
            TrainedWeights(self.model).load_state_dict(progress.best_weights)
        if result is None or progress.selected_epoch != len(progress.epochs):
            result = self._evaluated(evaluate)
        return result

    def _evaluated(self, evaluate: Callable[[Engine], Result]) -> Result:
        """The scores of the model as it is saved: in half precision the unmerged one's logits would differ."""
        try:
            with merged(self.model.backbone.encoder):
                return evaluate(self.engine)
        except RuntimeError as error:
            if interrupts.asked():  # another process has stopped for the same signal
                raise interrupts.Stopping from error
            raise

    def _interrupted(
        self, stopping: interrupts.Stopping, state: dict[str, Any], progress: Progress
    ) -> interrupts.Interrupted:
        """Saves a checkpoint, and says where the run stopped."""
        if self.checkpoints is None:
            return interrupts.Interrupted(stopping.number)
        self.checkpoints.save(state, progress)
        return interrupts.Interrupted(stopping.number, f"after update {progress.update}, with a checkpoint")

    def _groups(self, batches: Batches, *, start: int, end: int) -> Iterator[list[np.ndarray]]:
        """The batches of some updates, in groups whose losses are read together."""
        size = 1
        while start < end:
            due = self.checkpoints and self.checkpoints.until_due(start)
            after = min(end, start + min(size, due or size))
            yield batches[start:after]
            start, size = after, min(LOSSES_AT_ONCE, 2 * size)

    def _end_epoch(self, epoch: int, result: Scored, progress: Progress) -> None:
        loss, rank = float(np.mean(progress.losses)), result.metrics[0].rank
        done = EpochResult(epoch=epoch, loss=loss, headline=result.headline, scores=result.scores, dev_loss=result.loss)
        progress.losses.clear()
        better = progress.best is None or rank(done.headline) > rank(progress.best)
        progress.epochs.append(done)
        if better:
            progress.best_epoch = epoch
            if self.settings.select == "best":
                state = TrainedWeights(self.model).state_dict()
                progress.best_weights = {name: tensor.cpu().clone() for name, tensor in state.items()}
        assert progress.best is not None  # set by the first epoch
        self.watch(EpochDone(result=done, best=progress.best, metrics=result.metrics))


class TrainedWeights:
    """A model's state without its frozen weights."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.frozen = {name for name, p in model.named_parameters(remove_duplicate=False) if not p.requires_grad}

    def state_dict(self) -> dict[str, Tensor]:
        """Trained weights and buffers by name."""
        return {name: tensor for name, tensor in self.model.state_dict().items() if name not in self.frozen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads them. Raises RuntimeError for the state of another model."""
        missing, unknown = self.model.load_state_dict(state, strict=False)
        if wrong := [*unknown, *sorted(set(missing) - self.frozen)]:
            raise RuntimeError(f"weights of another model: {wrong[0]}")

    def leave_out_of_ddp(self) -> None:
        """Keeps DistributedDataParallel, which is given the model later, from sending frozen weights at its start."""
        ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model  # there is no public way
        ignore(self.model, sorted(self.frozen))  # type: ignore[no-untyped-call]
