"""Batches of one task each: whose batch is next is a function of (data_seed, update), as its rows are."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from finetune.models.feature import Feature
from finetune.models.feature_arrays import LazyFeatures, lengths, truncated_rows
from finetune.runs.recipe_tables import Train
from finetune.runs.together import Sampling
from finetune.training.batching import Batches

WHOSE = 7_000_003  # follows the data_seed in the seed of whose batch is next: no epoch has that number


class FeaturesTogether(LazyFeatures):
    """The training features of all tasks, one task after the other, each with the number of its task.

    Their rows are numbered on, too.
    """

    def __init__(self, each: Sequence[Sequence[Feature]], *, rows: Sequence[int]) -> None:
        self.each = each
        self.first_rows = np.cumsum([0, *rows])
        self.starts = np.cumsum([0, *map(len, each)])
        self.lengths = np.concatenate([lengths(features) for features in each])
        facts = [truncated_rows(features) for features in each]
        self.rows = np.concatenate([own + first for (own, _), first in zip(facts, self.first_rows, strict=False)])
        self.truncated = np.concatenate([cut for _, cut in facts])

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        task = int(np.searchsorted(self.starts, index, side="right")) - 1
        found = self.each[task][int(index - self.starts[task])]
        return replace(found, row=int(self.rows[index]), task=task)


class BatchesTogether(Batches):
    """The batches of all updates, each of one task; an epoch has as many as all tasks have together."""

    def __init__(
        self, features: FeaturesTogether, *, sampling: Sampling, batch_size: int, data_seed: int, updates: int | None,
        epochs: int,
    ) -> None:  # fmt: skip
        counts = np.diff(features.starts)
        own_epochs = -(-counts // batch_size)
        total = updates or epochs * int(own_epochs.sum())
        super().__init__(features.lengths, batch_size=batch_size, data_seed=data_seed, updates=total)
        self.an_epoch, self.starts = int(own_epochs.sum()), features.starts
        self.whose = tasks_of_updates(own_epochs, counts, sampling=sampling, data_seed=data_seed, updates=total)
        self.earlier = _earlier(self.whose, tasks=len(counts))
        self.own = [
            Batches(features.lengths[start:end], batch_size=batch_size, data_seed=data_seed, updates=total)
            for start, end in zip(self.starts, self.starts[1:], strict=False)
        ]

    def at(self, update: int) -> np.ndarray:
        """The features of an update's batch."""
        task = self.whose[update]
        own: np.ndarray = self.own[task].at(int(self.earlier[update]))
        return own + int(self.starts[task])


def tasks_of_updates(
    own_epochs: np.ndarray, counts: np.ndarray, *, sampling: Sampling, data_seed: int, updates: int
) -> np.ndarray:
    """The number of the task of each update `(updates,)`; a longer run begins with the same ones.

    `own_epochs` `(tasks,)` are the batches of an epoch of each, and `counts` `(tasks,)` its features.
    """
    if sampling == "turns":
        return np.arange(updates) % len(counts)
    if sampling == "proportion":
        once = np.repeat(np.arange(len(counts)), own_epochs)
        epochs = [
            np.random.default_rng([data_seed, WHOSE, epoch]).permutation(once)
            for epoch in range(-(-updates // len(once)))
        ]
        return np.concatenate(epochs)[:updates]
    chances = counts.astype(float) ** float(sampling)
    drawn = np.random.default_rng([data_seed, WHOSE]).random(updates)
    return np.searchsorted(np.cumsum(chances / chances.sum())[:-1], drawn, side="right")


def batches_together(sampling: Sampling, features: Sequence[Feature], settings: Train, data_seed: int) -> Batches:
    """The batches of all updates of these settings."""
    assert isinstance(features, FeaturesTogether)
    return BatchesTogether(
        features, sampling=sampling, batch_size=settings.batch_size, data_seed=data_seed, updates=settings.updates,
        epochs=settings.epochs,
    )  # fmt: skip


def _earlier(whose: np.ndarray, *, tasks: int) -> np.ndarray:
    """How many earlier updates were of the same task as each."""
    found = np.zeros(len(whose), dtype=np.int64)
    for task in range(tasks):
        mine = whose == task
        found[mine] = np.arange(int(mine.sum()))
    return found
