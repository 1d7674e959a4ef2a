"""The unigram and bigram of a text's tokens, against slow computations."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from finetune.task_types.pretraining import baselines
from finetune.task_types.pretraining.baselines import STRENGTHS, bigram_nats, counted, most_frequent_after, unigram_nats
from finetune.task_types.pretraining.tokens import TokenFile

SIZE = 7


def text_of(ids: np.ndarray) -> TokenFile:
    ends = np.array([0, len(ids)])
    return TokenFile(
        ids=ids.astype(np.uint16), starts=np.packbits(np.ones(len(ids), bool)), lines=ends, documents=np.array([0, 1])
    )


@pytest.fixture(params=[10_000_000, 13])
def ids(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """A text, which is counted at once or in several parts."""
    monkeypatch.setattr(baselines, "TOKENS_AT_ONCE", request.param)
    return np.append(np.random.default_rng(0).integers(0, SIZE - 2, 200) ** 2 // 4, SIZE - 1)


def every_pair() -> tuple[np.ndarray, np.ndarray]:
    before, tokens = np.divmod(np.arange(SIZE * SIZE), SIZE)
    return before, tokens


def test_probabilities_of_all_tokens_add_up_to_1(ids: np.ndarray) -> None:
    before, tokens = every_pair()
    counts = counted(text_of(ids), before, tokens, size=SIZE)
    assert np.exp(-unigram_nats(counts, np.arange(SIZE))).sum() == pytest.approx(1)
    each = np.exp(-bigram_nats(counts, before, tokens)).reshape(SIZE, SIZE).sum(1)
    assert each[: SIZE - 1] == pytest.approx(np.ones(SIZE - 1))  # the last token of the text is followed by none


def test_nats_are_those_of_a_slow_computation(ids: np.ndarray) -> None:
    before, tokens = np.array([0, 0, 1, 4, 5]), np.array([0, 4, 1, 1, 2])
    counts = counted(text_of(ids), before, tokens, size=SIZE)
    once, twice = Counter(ids.tolist()), Counter(pairwise(ids.tolist()))
    one = [(once[token] + 1) / (len(ids) + SIZE) for token in tokens.tolist()]
    assert unigram_nats(counts, tokens) == pytest.approx([-math.log(chance) for chance in one])
    every = [
        [
            -math.log((twice[first, token] + strength * prior) / (once[first] + strength))
            for first, token, prior in zip(before.tolist(), tokens.tolist(), one, strict=True)
        ]
        for strength in STRENGTHS
    ]
    assert bigram_nats(counts, before, tokens) == pytest.approx(min(every, key=sum))
    best = {first: max((n, second) for (a, second), n in twice.items() if a == first)[1] for first in (0, 1)}
    found = most_frequent_after(text_of(ids), np.array([1, 0, SIZE - 1]), otherwise=3, size=SIZE)
    assert found.tolist() == [best[1], best[0], 3]  # the last token of the text is followed by none
