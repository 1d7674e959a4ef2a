"""Training batches: a function of (data_seed, epoch), independent of the number of processes."""

from collections.abc import Sequence

import numpy as np

POOL = 50  # batches sorted by length together: enough to save padding, few enough to stay random


def training_batches(
    lengths: Sequence[int] | np.ndarray, *, batch_size: int, data_seed: int, epoch: int
) -> list[np.ndarray]:
    """Batches of indices for one epoch: shuffled, sorted by length within pools, then the batches shuffled."""
    generator = np.random.default_rng([data_seed, epoch])
    order = generator.permutation(len(lengths))
    by_length = np.asarray(lengths)
    batches = []
    for start in range(0, len(order), POOL * batch_size):
        pool = order[start : start + POOL * batch_size]
        pool = pool[np.argsort(by_length[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def share(batch: np.ndarray, *, rank: int, processes: int, parts: int) -> list[np.ndarray]:
    """One process's rows of a batch, in `parts` for gradient accumulation. Over all processes, each row once.

    Interleaved, so that lengths spread evenly. A part may be empty if the batch is small.
    """
    return [batch[rank + processes * part :: processes * parts] for part in range(parts)]
