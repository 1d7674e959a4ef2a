"""Which rows are kept while a pool is read, and which of them are chosen."""

import random
from typing import Any

import numpy as np

from finetune.commands.label_next.candidates import FewBest, PoolCandidate, pool_key
from finetune.commands.label_next.choose import interleaved, spread
from finetune.data.records import Record
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer


def candidate(text: str) -> PoolCandidate:
    row: Any = SentenceRow(id="", text=text)
    return PoolCandidate(
        record=Record(row=1, line=1), row=row, answer=Answer(value="a"), confidence=0.5, key=pool_key(text)
    )


def test_the_best_are_kept_once_each_whatever_the_order() -> None:
    texts = [f"text {number % 50}" for number in range(500)]
    for seed in range(3):
        order = random.Random(seed).sample(texts, len(texts))
        best = FewBest(most=5)
        for text in order:
            best.add((float(text.split()[1]), pool_key(text)), candidate(text))
        assert [one.row.text for one in best.best_first()] == [f"text {number}" for number in (49, 48, 47, 46, 45)]


def test_none_is_kept_where_none_is_wanted() -> None:
    best = FewBest(most=0)
    best.add((1.0, 1), candidate("a"))
    assert best.best_first() == []


def test_chosen_rows_are_of_all_clusters_and_the_least_sure_first() -> None:
    source = np.random.default_rng(0)
    centres = np.eye(8)[:4] * 10
    vectors = np.repeat(centres, 25, axis=0) + source.normal(0, 0.1, (100, 8))
    doubts = np.linspace(1, 0.1, 100)
    chosen = spread(vectors, doubts, 4, seed=0)
    assert sorted(index // 25 for index in chosen) == [0, 1, 2, 3]
    assert [doubts[index] for index in chosen] == sorted(doubts[chosen], reverse=True)
    assert spread(vectors, doubts, 4, seed=0) == chosen


def test_as_many_are_chosen_where_all_vectors_are_equal() -> None:
    assert sorted(spread(np.ones((6, 3)), np.zeros(6), 4, seed=0)) == [0, 1, 2, 3]


def test_some_are_spread_evenly_among_most() -> None:
    assert interleaved([1, 2, 3, 4], [9]) == [1, 2, 9, 3, 4]
    assert interleaved([], [9, 8]) == [9, 8]
