"""Chooses among candidates: the least sure ones, spread over what the model sees."""

from collections.abc import Sequence
from warnings import catch_warnings, simplefilter

import numpy as np

SPREAD_AMONG = 3  # times as many of the least sure rows as are wanted, over which the chosen ones are spread
MOST_STEPS = 20  # of k-means
LEAST_WEIGHT = 1e-6  # of a row whose prediction is certain


def spread(vectors: np.ndarray, doubts: np.ndarray, count: int, *, seed: int) -> list[int]:
    """The indexes of `count` rows, the least sure first: of each of so many clusters the row next to its centre.

    Clusters are those of k-means, in which the least sure rows weigh most (Zhdanov 2019). `vectors` `(rows, width)`,
    `doubts` `(rows,)`, 0 to 1.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    clusters = KMeans(count, n_init=1, max_iter=MOST_STEPS, random_state=seed)
    with threadpool_limits(1), catch_warnings():  # equal rows give fewer clusters
        simplefilter("ignore")
        nearest = clusters.fit(unit, sample_weight=doubts + LEAST_WEIGHT).transform(unit).argmin(0)
    least_sure = np.argsort(-doubts, kind="stable")
    chosen = dict.fromkeys([*nearest.tolist(), *least_sure.tolist()])
    return sorted(list(chosen)[:count], key=lambda index: -doubts[index])


def interleaved(most: Sequence[int], some: Sequence[int]) -> list[int]:
    """Both together, each in its order, `some` evenly among `most`."""
    places = [(index + 0.5) / len(most) for index in range(len(most))]
    places += [(index + 0.5) / len(some) for index in range(len(some))]
    return [one for _, one in sorted(zip(places, [*most, *some], strict=True), key=lambda pair: pair[0])]
