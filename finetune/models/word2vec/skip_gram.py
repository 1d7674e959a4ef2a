"""Skip-gram with negative sampling (Mikolov et al. 2013b, sections 2.2 and 2.3), in numpy.

A word's vector learns to tell the words around it from words drawn at random. The numbers are those of the original
code (word2vec.c): windows of a random reach up to 5, 5 negative words drawn by count to the power of 0.75, a rate that
falls linearly from 0.025. Frequent words are left out by chance by its formula too, from a share of 1e-3 on, which
suits small texts; the paper's 1e-5 is for a billion words. Pairs are updated in batches, by the sum of their
gradients, so that numpy computes them together; a word that comes often in a batch moves as far as if its pairs had
come one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from finetune.runs.events import Watcher, Working

REACH = 5  # words on each side, at most
NEGATIVES = 5  # words drawn at random for each pair
NOISE_POWER = 0.75  # of a word's count, by which it is drawn
FREQUENT = 1e-3  # share of the words above which a word is left out by chance
RATE, LAST_RATE = 0.025, 0.025e-4  # at the begin and at the end
WORDS_READ = 2_000_000  # in all: a small text is read several times
MOST_PASSES = 100
PAIRS_AT_ONCE = 1_024  # fewer where there are fewer different words, so that none is in a batch too often
LARGEST = 30.0  # of a score: beyond it the chance is 0 or 1 in single precision
WORDS_AT_ONCE = 200_000  # of which pairs are made together, to bound memory


@dataclass(frozen=True, kw_only=True)
class WordIds:
    """Texts as numbers of words `(words,)`, one after another, and for each word its text `(words,)`, which rises."""

    ids: np.ndarray
    texts: np.ndarray


def skip_gram_vectors(words: WordIds, *, size: int, width: int, seed: int, watch: Watcher) -> np.ndarray:
    """A vector for each of `size` words, `(size, width)`, by the seed alone. A word that never occurs has zeros."""
    generator = np.random.default_rng([seed, width])
    counts = np.bincount(words.ids, minlength=size)
    vectors = ((generator.random((size, width), np.float32) - 0.5) / width) * (counts > 0)[:, None]
    outputs = np.zeros((size, width), np.float32)
    noise = np.cumsum(counts**NOISE_POWER)
    passes = min(MOST_PASSES, max(1, round(WORDS_READ / max(1, len(words.ids)))))
    batch = int(np.clip(np.count_nonzero(counts), 1, PAIRS_AT_ONCE))
    for done in range(passes):
        watch(Working("training vectors of words", done, passes))
        for share, pairs in _pairs(words, counts, generator):
            for begin in range(0, len(pairs), batch):
                past = (done + share * begin / len(pairs)) / passes
                rate = max(LAST_RATE, RATE * (1 - past))
                _update(vectors, outputs, pairs[begin : begin + batch], noise, rate, generator)
    return vectors


def kept_share(counts: np.ndarray) -> np.ndarray:
    """The chance to stay of each word by its count, `(words,)`: 1 up to the share FREQUENT, then lower (equation 5 of
    the paper as its code has it).
    """
    share = counts / (FREQUENT * max(1, counts.sum()))
    chance: np.ndarray = np.minimum(1.0, (np.sqrt(share) + 1) / np.maximum(share, 1e-12))
    return chance


def _pairs(words: WordIds, counts: np.ndarray, generator: np.random.Generator) -> Iterator[tuple[float, np.ndarray]]:
    """(word, word near it) `(pairs, 2)` of one pass, shuffled, part by part; with the share of the pass at the end."""
    keep = kept_share(counts)
    for begin in range(0, len(words.ids), WORDS_AT_ONCE):
        part = slice(begin, begin + WORDS_AT_ONCE)
        stays = generator.random(len(words.ids[part])) < keep[words.ids[part]]
        ids, texts = words.ids[part][stays], words.texts[part][stays]
        reach = generator.integers(1, REACH + 1, len(ids))
        found = [np.empty((0, 2), ids.dtype)]
        for step in range(1, REACH + 1):
            near = texts[step:] == texts[:-step]
            before, after = ids[:-step], ids[step:]
            found.append(np.stack([before, after], 1)[near & (reach[:-step] >= step)])
            found.append(np.stack([after, before], 1)[near & (reach[step:] >= step)])
        yield min(1.0, (begin + WORDS_AT_ONCE) / len(words.ids)), generator.permutation(np.concatenate(found))


def _update(
    vectors: np.ndarray,
    outputs: np.ndarray,
    pairs: np.ndarray,
    noise: np.ndarray,
    rate: float,
    generator: np.random.Generator,
) -> None:
    """One step on `pairs` `(n, 2)`, each with negative words, of which one that is the word itself does not count."""
    word, near = pairs[:, 0], pairs[:, 1]
    drawn = np.searchsorted(noise, generator.random((len(pairs), NEGATIVES)) * noise[-1], side="right")
    others = np.concatenate([near[:, None], drawn], axis=1)
    there, given = vectors[word], outputs[others]
    right = np.zeros(others.shape, np.float32)
    right[:, 0] = 1
    counts = np.ones(others.shape, np.float32)
    counts[:, 1:] = drawn != near[:, None]
    score = np.matmul(given, there[:, :, None])[:, :, 0]
    slope = (right - 1 / (1 + np.exp(-np.clip(score, -LARGEST, LARGEST)))) * counts * np.float32(rate)
    step = np.matmul(slope[:, None], given)[:, 0]
    one = np.arange(len(pairs))
    _add(outputs, others.ravel(), slope.ravel(), there, one.repeat(1 + NEGATIVES))
    _add(vectors, word, np.ones(len(pairs), np.float32), step, one)


def _add(table: np.ndarray, rows: np.ndarray, weights: np.ndarray, steps: np.ndarray, of: np.ndarray) -> None:
    """Adds to each of `rows` the step numbered `of` it, times its weight; rows may repeat. In the same order each time,
    so that it gives the same bits.
    """
    from scipy.sparse import csr_array

    order = np.argsort(rows, kind="stable")
    first = np.flatnonzero(np.diff(rows[order], prepend=-1))
    ends = np.append(first, len(rows))
    table[rows[order[first]]] += csr_array((weights[order], of[order], ends), shape=(len(first), len(steps))) @ steps
