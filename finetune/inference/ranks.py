"""The place of each passage among those of its query, by its score, and the order in which they are written."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from finetune.data.characters import same_text
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import NoRow

RANK = "rank"  # the column of places, from 1


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """The place of each row `(rows,)`, None without a prediction; and the rows in order: the queries as they come
    first, their passages by place.
    """

    places: Sequence[int | None]
    order: Sequence[int]


def ranks_of(rows: Iterable[tuple[str, Any]]) -> Ranks:
    """The places of rows, each a query and the score of its passage, of which equal ones share a place."""
    queries: dict[str, int] = {}
    members: defaultdict[int, list[int]] = defaultdict(list)
    scores = array("d")
    for index, (query, score) in enumerate(rows):
        members[queries.setdefault(same_text(query), len(queries))].append(index)
        scores.append(float("nan") if score is None else score)
    places: list[int | None] = [None] * len(scores)
    order = list[int]()
    for some in members.values():
        best = sorted((index for index in some if scores[index] == scores[index]), key=lambda index: -scores[index])
        for number, index in enumerate(best):
            tied = number > 0 and scores[index] == scores[best[number - 1]]
            places[index] = places[best[number - 1]] if tied else number + 1
        order += [*best, *(index for index in some if places[index] is None)]
    return Ranks(places=places, order=order)


def query_in(layout: Layout, values: Mapping[str, Any]) -> str:
    """The query of a row; empty for a row that has none, and no prediction either."""
    with suppress(NoRow):
        return layout.text_of(values, layout.text[0])
    return ""
