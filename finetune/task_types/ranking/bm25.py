"""BM25: how well passages answer a query by the words that they share (Robertson and Zaragoza 2009, section 3)."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    pass

K1, B = 1.2, 0.75  # the defaults of Lucene, which has the same formula
QUERIES_AT_ONCE = 200
WORD = re.compile(r"\w+")
NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # kana, Chinese characters, Hangul


def terms_of(text: str) -> list[str]:
    """The words in lower case; of scripts whose words have endings or no spaces, each two characters (Hangul too)."""
    found: list[str] = []
    for word in WORD.findall(text.lower()):
        if NO_SPACES.search(word) and len(word) > 2:
            found += (word[place : place + 2] for place in range(len(word) - 1))
        else:
            found.append(word)
    return found


class Bm25:
    """An index of passages. A passage's score is a sum over the query's terms: idf * tf * (k1 + 1) / (tf + k1 * norm),
    where norm = 1 - b + b * length / mean length, and idf = log(1 + (n - df + 0.5) / (df + 0.5)).
    """

    def __init__(self, passages: Sequence[str]) -> None:
        from scipy.sparse import csr_matrix
        from sklearn.feature_extraction.text import CountVectorizer

        self.passages = passages
        self.counter = CountVectorizer(analyzer=terms_of)
        try:
            counts = self.counter.fit_transform(passages).astype(float)
        except ValueError:  # no passage has a word
            self.counter.vocabulary_, counts = {"": 0}, csr_matrix((len(passages), 1))
        lengths = np.asarray(counts.sum(1)).ravel()
        norm = 1 - B + B * lengths / (lengths.mean() or 1.0)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = np.log(1 + (len(passages) - frequency + 0.5) / (frequency + 0.5))
        rows = np.repeat(np.arange(len(passages)), np.diff(counts.indptr))
        counts.data = idf[counts.indices] * counts.data * (K1 + 1) / (counts.data + K1 * norm[rows])
        self.weights: csr_matrix = counts

    def scores(self, queries: Sequence[str], places: Sequence[int]) -> np.ndarray:
        """The score of passage number `places[i]` for `queries[i]`, `(pairs,)`."""
        asked = self.counter.transform(queries)
        return np.asarray(asked.multiply(self.weights[places]).sum(1), float).ravel()

    def ranked(self, queries: Sequence[str], most: int) -> Iterator[list[int]]:
        """For each query the indexes of at most `most` passages that share a term with it, the best first."""
        for begin in range(0, len(queries), QUERIES_AT_ONCE):
            found = (self.counter.transform(queries[begin : begin + QUERIES_AT_ONCE]) @ self.weights.T).tocsr()
            found.sort_indices()
            for row in range(found.shape[0]):
                part = slice(found.indptr[row], found.indptr[row + 1])
                best = np.argsort(-found.data[part], kind="stable")[:most]
                yield found.indices[part][best].tolist()
