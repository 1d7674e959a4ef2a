"""Scores of rankings, a query each: MRR, NDCG and average precision; passages with equal scores count in every order.

With ties a score is the mean over all orders of the tied passages (McSherry and Najork 2008). So neither the order of a
file nor the order of labels decides, and a model with equal scores for all passages is scored as chance.
"""

from collections.abc import Sequence
from math import comb

import numpy as np

from finetune.metrics.metric import Metric

CUT = 10  # places that MRR and NDCG look at, as MS MARCO and BEIR do
mrr_at_10 = Metric(f"mrr@{CUT}")
ndcg_at_10 = Metric(f"ndcg@{CUT}")
mean_average_precision = Metric("map")
RANKING_METRICS = (ndcg_at_10, mrr_at_10, mean_average_precision)


def ranking_scores(grades: Sequence[float], scores: Sequence[float]) -> dict[str, float]:
    """The scores of one query by the metric's name, 0 to 1.

    `grades` are above 0 for relevant passages, of which there is at least one. `scores` are the model's, higher for
    passages that it ranks higher.
    """
    relevance, predicted = np.asarray(grades, float), np.asarray(scores, float)
    order = np.argsort(-predicted, kind="stable")
    # The grades of passages with equal scores, the highest score first.
    groups = np.split(relevance[order], np.flatnonzero(np.diff(predicted[order])) + 1)
    return {
        ndcg_at_10.name: _ndcg(groups, relevance),
        mrr_at_10.name: _reciprocal_rank(groups),
        mean_average_precision.name: _average_precision(groups),
    }


def _ndcg(groups: Sequence[np.ndarray], grades: np.ndarray) -> float:
    """Grades divided by log2(place + 1), over their best order (Järvelin and Kekäläinen 2002), as trec_eval."""
    discounts = np.zeros(len(grades))
    discounts[:CUT] = 1 / np.log2(np.arange(2, 2 + min(CUT, len(grades))))
    best = float(np.sort(grades)[::-1] @ discounts)
    gain, start = 0.0, 0
    for group in groups:
        gain += float(group.mean() * discounts[start : start + len(group)].sum())
        start += len(group)
    return min(1.0, gain / best)


def _reciprocal_rank(groups: Sequence[np.ndarray]) -> float:
    """1 / place of the first relevant passage; 0 after the cut."""
    start = 0
    for group in groups:
        count, relevant = len(group), int((group > 0).sum())
        if relevant:
            # Over the orders of the tied group the first relevant passage is at `place` in comb(...) of the ways.
            ways, last = comb(count, relevant), min(count - relevant + 1, CUT - start)
            return sum(comb(count - place, relevant - 1) / ways / (start + place) for place in range(1, last + 1))
        start += count
    return 0.0


def _average_precision(groups: Sequence[np.ndarray]) -> float:
    """The mean precision at the places of the relevant passages."""
    precision, start, before = 0.0, 0, 0
    for group in groups:
        count, relevant = len(group), int((group > 0).sum())
        if relevant:
            places = np.arange(count)  # before one in its group
            above = places * (relevant - 1) / max(1, count - 1)  # relevant ones of its group, on average
            precision += float((relevant / count * (before + 1 + above) / (start + 1 + places)).sum())
        start, before = start + count, before + relevant
    return precision / before
