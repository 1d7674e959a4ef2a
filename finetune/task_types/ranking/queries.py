"""Rows by query: which belong together, and what learning from all passages of a query at once needs."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.characters import same_text
from finetune.data.rows import grouped
from finetune.models.feature import Feature
from finetune.task_types.classification.texts import TextRow

if TYPE_CHECKING:
    from finetune.task_types.ranking.head import RankingLoss


def query_of(row: TextRow) -> str:
    """What rows of the same query share."""
    return same_text(row.text)


def by_query(rows: Iterable[TextRow]) -> list[list[int]]:
    """The indexes of each query's rows, the queries in the order in which they come first."""
    return grouped(map(query_of, rows))


def query_feature(number: int, passages: Sequence[Feature], grades: Sequence[float], learns: "RankingLoss") -> Feature:
    """The feature of a query with all its passages; `note` has their grades."""
    return Feature(
        row=number,
        choices=passages,
        label=_pairs(grades) if learns == "pairwise" else _shares(grades),
        truncated=any(one.truncated for one in passages),
        note=np.asarray(grades, np.float32),
    )


def some_passages(query: Feature, most: int, generator: np.random.Generator, learns: "RankingLoss") -> Feature:
    """A query with at most `most` of its passages, drawn at random: up to half of them relevant ones, then others."""
    if len(query.choices) <= most:
        return query
    order = generator.permutation(len(query.choices)).tolist()
    relevant = [place for place in order if query.note[place] > 0]
    first = relevant[: max(1, most // 2)]
    others = [place for place in order if query.note[place] == 0]
    chosen = [*first, *others, *relevant[len(first) :]][:most]
    return query_feature(query.row, [query.choices[i] for i in chosen], query.note[chosen].tolist(), learns)


def _pairs(grades: Sequence[float]) -> np.ndarray:
    """The places of two passages, the first of which is more relevant, `(pairs, 2)`."""
    places = range(len(grades))
    return np.array([(a, b) for a, b in product(places, places) if grades[a] > grades[b]], np.float32).reshape(-1, 2)


def _shares(grades: Sequence[float]) -> np.ndarray:
    """Each passage's share of the grades `(1, passages)`."""
    given = np.array(grades, float)
    shares: np.ndarray = (given / given.max() / (given / given.max()).sum())[None].astype(np.float32)
    return shares
