"""The place of each passage among those of its query, by its score, and the order in which they are written."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.characters import same_text

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
