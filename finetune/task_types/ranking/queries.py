"""Rows by query: which belong together, and what learning from all passages of a query at once needs."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.characters import same_text
from finetune.models.feature import Feature
from finetune.task_types.pooled import EncodedText, TextRow
from finetune.task_types.row_groups import RowUnit, grouped

if TYPE_CHECKING:
    from finetune.task_types.ranking.head import RankingLoss


def query_of(row: TextRow) -> str:
    """What rows of the same query share."""
    return same_text(row.text)


def by_query(rows: Iterable[TextRow]) -> list[RowUnit]:
    """The indexes of each query's rows, the queries in the order in which they come first."""
    return grouped(map(query_of, rows))


def query_feature(
    number: int, passages: Sequence[EncodedText], grades: Sequence[float], learns: "RankingLoss"
) -> Feature | None:
    """The feature of a query with all its passages; None where these are all equally relevant: nothing is learned."""
    label = _pairs(grades) if learns == "pairwise" else _shares(grades)
    if not len(label):
        return None
    return Feature(
        row=number,
        choices=[Feature(row=number, input_ids=one.ids, token_type_ids=one.segments) for one in passages],
        label=label,
        truncated=any(one.truncated for one in passages),
    )


def _pairs(grades: Sequence[float]) -> np.ndarray:
    """The places of two passages, the first of which is more relevant, `(pairs, 2)`."""
    places = range(len(grades))
    return np.array([(a, b) for a, b in product(places, places) if grades[a] > grades[b]], np.float32).reshape(-1, 2)


def _shares(grades: Sequence[float]) -> np.ndarray:
    """Each passage's share of the grades `(1, passages)`; empty where all are equal."""
    given = np.array(grades, np.float32)
    return (given / given.sum())[None] if given.max() > given.min() else np.empty((0, 0), np.float32)
