"""The rows of a predicted file by query and rank, from its journal."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from finetune.inference.answer_rows import free_name
from finetune.inference.ranks import RANK, query_in, ranks_of
from finetune.runs.predictions import PREDICTION
from finetune.storage.journal import Journal
from finetune.task_types.columns import Layout


class RankedRows:
    """Predicted rows in the order of their ranks, which may be iterated twice; `taken` are the file's own columns."""

    def __init__(self, journal: Journal, layout: Layout, taken: Collection[str]) -> None:
        self.journal, self.taken = journal, taken
        score = free_name(PREDICTION, taken)
        self.ranks = ranks_of((query_in(layout, row), row.get(score)) for row in journal)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        name = free_name(RANK, self.taken)
        for number, row in zip(self.ranks.order, self.journal.in_order(self.ranks.order), strict=True):
            yield row | {name: self.ranks.places[number]}


def with_rank(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """The columns of the output, with the rank after the score."""
    after = names.index(score) + 1 if (score := free_name(PREDICTION, taken)) in names else len(names)
    return [*names[:after], free_name(RANK, taken), *names[after:]]
