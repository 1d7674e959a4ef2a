"""Unigram and bigram of tokens, from the training text: what an encoder that has learned from context has to beat.

They are scored on the tokens of the same words as the encoder, with its vocabulary. The bigram sees the token before,
also where the encoder has a mask.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.pretraining.dev import NONE, DevPiece
from finetune.task_types.pretraining.pairs import IS_NEXT
from finetune.task_types.pretraining.tokens import TokenFile

TOKENS_AT_ONCE = 1_000_000  # tokens that are counted together
FOLLOWED = 10_000_000  # tokens of a text, the first ones, in which the most frequent followers are looked for
STRENGTHS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)  # tokens seen that the prior of the bigram counts as

PairCounts = tuple[np.ndarray, np.ndarray]  # pairs of tokens, each once and sorted, and how often each is there


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenCounts:
    """How often each token is in a text `(vocabulary,)`, and how often wanted pairs of neighbours are `(pairs,)`."""

    tokens: np.ndarray
    pairs: np.ndarray
    of_pairs: np.ndarray

    def of(self, before: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """How often each of some wanted pairs is in the text."""
        found: np.ndarray = self.of_pairs[np.searchsorted(self.pairs, _codes(before, tokens, len(self.tokens)))]
        return found


def reduced(
    text: TokenFile, features: Sequence[Feature], *, labels: Sequence[np.ndarray]
) -> dict[str, list[np.ndarray]]:
    """For each baseline what `Head.reduced` is of an encoder: nats and most probable token of each label of each dev
    feature; every second text follows the first.
    """
    notes: list[DevPiece] = [feature.note for feature in features]
    tokens = np.concatenate(labels)
    before = np.concatenate([note.before for note in notes])
    known = (before != NONE) & (tokens >= 0)
    size = 1 + int(max(each.max() for each in (text.ids, tokens, before)))
    counts = counted(text, before[known], tokens[known], size=size)
    unigram = unigram_nats(counts, np.maximum(tokens, 0))
    bigram = unigram.copy()
    bigram[known] = bigram_nats(counts, before[known], tokens[known])
    top = np.full(len(tokens), np.argmax(counts.tokens))
    after = top.copy()
    after[known] = most_frequent_after(text, before[known], otherwise=int(top[0]), size=size)
    ends = np.cumsum([len(each) for each in labels])[:-1]
    given = {"unigram": (unigram, top), "bigram": (bigram, after)}
    following = np.eye(2)[IS_NEXT]
    return {
        name: np.split(np.column_stack([nats, best, np.tile(following, (len(tokens), 1))]), ends)
        for name, (nats, best) in given.items()
    }


def counted(text: TokenFile, before: np.ndarray, tokens: np.ndarray, *, size: int) -> TokenCounts:
    """Counts of all tokens, and of the wanted pairs."""
    pairs = np.unique(_codes(before, tokens, size))
    of_tokens, of_pairs = np.zeros(size, np.int64), np.zeros(len(pairs) + 1, np.int64)
    for begin in range(0, len(text.ids), TOKENS_AT_ONCE):
        some = text.ids[begin : begin + TOKENS_AT_ONCE + 1].astype(np.int64)
        of_tokens += np.bincount(some[:TOKENS_AT_ONCE], minlength=size)
        codes = _codes(some[:-1], some[1:], size)
        positions = np.searchsorted(pairs, codes)
        there = np.append(pairs, -1)[positions] == codes
        of_pairs += np.bincount(positions[there], minlength=len(of_pairs))
    return TokenCounts(tokens=of_tokens, pairs=pairs, of_pairs=of_pairs[:-1])


def unigram_nats(counts: TokenCounts, tokens: np.ndarray) -> np.ndarray:
    """With one added to each count."""
    every = math.log(counts.tokens.sum() + len(counts.tokens))
    return np.asarray(every - np.log(counts.tokens[tokens] + 1))


def bigram_nats(counts: TokenCounts, before: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """With the unigram as Dirichlet prior, of the strength that is best on these very tokens: the best bigram."""
    prior, seen, of = np.exp(-unigram_nats(counts, tokens)), counts.of(before, tokens), counts.tokens[before]
    each = [-np.log((seen + strength * prior) / (of + strength)) for strength in STRENGTHS]
    return np.asarray(min(each, key=lambda nats: float(nats.sum())))


def most_frequent_after(text: TokenFile, before: np.ndarray, *, otherwise: int, size: int) -> np.ndarray:
    """The token that is most frequent after each in the first FOLLOWED of a text; `otherwise` where none follows."""
    wanted, ids = np.zeros(size, bool), text.ids[:FOLLOWED]
    wanted[before] = True
    pairs, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for begin in range(0, len(ids), TOKENS_AT_ONCE):
        some = ids[begin : begin + TOKENS_AT_ONCE + 1].astype(np.int64)
        kept = wanted[some[:-1]]
        more = np.unique(_codes(some[:-1][kept], some[1:][kept], size), return_counts=True)
        pairs, counts = _added((pairs, counts), more)
    first, second = np.divmod(pairs, size)
    best = np.full(size, otherwise)
    order = np.argsort(counts, kind="stable")
    best[first[order]] = second[order]  # of several values for an index the last one stays
    return np.asarray(best[before])


def _added(counted: PairCounts, more: PairCounts) -> PairCounts:
    """The sums of the counts of two texts."""
    pairs, places = np.unique(np.concatenate([counted[0], more[0]]), return_inverse=True)
    counts = np.zeros(len(pairs), np.int64)
    for some in (counted, more):
        counts[places[: len(some[0])]] += some[1]
        places = places[len(some[0]) :]
    return pairs, counts


def _codes(before: np.ndarray, tokens: np.ndarray, size: int) -> np.ndarray:
    return np.asarray(before.astype(np.int64) * size + tokens)
