"""Training batches: a function of (data_seed, epoch), independent of the number of processes."""

import math
from collections.abc import Sequence

import numpy as np

from finetune.models.feature import Feature, lengths
from finetune.runs.recipe_tables import Train

POOL = 50  # batches sorted by length together: enough to save padding, few enough to stay random


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
