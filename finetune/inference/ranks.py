"""The place of each passage among those of its query, by its score, and the order in which they are written."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from finetune.data.characters import same_text
from finetune.runs.predictions import PREDICTION
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import NoRow

RANK = "rank"  # the column of places, from 1


def ranks_of(rows: Iterable[tuple[str, Any]]) -> tuple[Sequence[int | None], Sequence[int]]:
    """The places of rows `(rows,)`, each a query and the score of its passage, None without a score; equal ones share a
    place. And the rows in order: the queries as they come first, their passages by place.
    """
    queries: defaultdict[str, list[int]] = defaultdict(list)
    scores = array("d")
    for index, (query, score) in enumerate(rows):
        queries[same_text(query)].append(index)
        scores.append(float("nan") if score is None else score)
    places: list[int | None] = [None] * len(scores)
    order = list[int]()
    for some in queries.values():
        best = sorted((index for index in some if scores[index] == scores[index]), key=lambda index: -scores[index])
        for number, index in enumerate(best):
            tied = number > 0 and scores[index] == scores[best[number - 1]]
            places[index] = places[best[number - 1]] if tied else number + 1
        order += [*best, *(index for index in some if places[index] is None)]
    return places, order


def with_ranks(rows: Iterable[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The cells of predictions, each with the place of its passage among those of its query; without a query as they
    are.
    """
    found = list(rows)
    if not any(query for query, _ in found):
        return [cells for _, cells in found]
    places, _ = ranks_of((query, cells.get(PREDICTION)) for query, cells in found)
    return [cells | ({RANK: place} if place else {}) for (_, cells), place in zip(found, places, strict=True)]


def query_in(layout: Layout, values: Mapping[str, Any]) -> str:
    """The query of a row; empty for a row that has none, and no prediction either."""
    with suppress(NoRow):
        return layout.text_of(values, layout.text[0])
    return ""
