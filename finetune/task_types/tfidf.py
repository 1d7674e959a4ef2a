"""TF-IDF of word 1-2-grams and character 2-4-grams: the numbers of scikit-learn in a third of the memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

ROWS_AT_ONCE = 2_000
NGRAMS = (("word", (1, 2)), ("char_wb", (2, 4)))
TextTuples = Sequence[tuple[str, ...]]


def vectors(texts: TextTuples, unseen: TextTuples) -> "tuple[csr_matrix, csr_matrix]":
    """TF-IDF vectors of both, fitted on `texts`; a pair (a, b) becomes |a - b| and a * b, concatenated."""
    train, new = None, None
    for analyzer, ngrams in NGRAMS:
        vectorizer, entries = _fitted(texts, analyzer, ngrams)
        train = _stacked(
            _columns(vectorizer, texts, train), entries * len(texts[0]) + (0 if train is None else train.nnz)
        )
        new = _stacked(_columns(vectorizer, unseen, new))
    return train, new


def _fitted(texts: TextTuples, analyzer: str, ngrams: tuple[int, int]) -> "tuple[TfidfVectorizer, int]":
    """A vectorizer, and the number of different n-grams of each text, summed up. Its `fit` would make all vectors."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True, dtype=np.float32)
    analyze, counts, entries, read = vectorizer.build_analyzer(), Counter[str](), 0, 0
    for row in texts:
        for text in row:
            found = set(analyze(text))
            counts.update(found)
            entries += len(found)
            read += 1
    terms = sorted(counts)
    frequency = np.array([counts[term] for term in terms], dtype=np.float32)
    vectorizer.vocabulary_ = {term: number for number, term in enumerate(terms)}
    vectorizer.idf_ = np.log(np.float32(read + 1) / (frequency + 1)) + 1
    return vectorizer, entries


def _columns(vectorizer: "TfidfVectorizer", texts: TextTuples, before: "csr_matrix | None") -> "Iterator[csr_matrix]":
    """The vectors of some rows after others, to the right of those of `before`."""
    from scipy.sparse import hstack

    for begin in range(0, len(texts), ROWS_AT_ONCE):
        rows = texts[begin : begin + ROWS_AT_ONCE]
        columns = [vectorizer.transform([row[i] for row in rows]) for i in range(len(rows[0]))]
        if len(columns) == 2:
            a, b = columns
            columns = [abs(a - b), a.multiply(b)]
        left = [] if before is None else [before[begin : begin + ROWS_AT_ONCE]]
        yield hstack([*left, *columns]).tocsr()


def _stacked(parts: "Iterator[csr_matrix]", most: int = 0) -> "csr_matrix":
    """All rows in one matrix of at most `most` entries; if that is given, there is no second copy on the way."""
    from scipy.sparse import csr_matrix, vstack

    if not most:
        return vstack(list(parts)).tocsr()
    data, indices, ends, width = np.empty(most, np.float32), np.empty(most, np.int32), [0], 0
    for part in parts:
        begin, end = ends[-1], ends[-1] + part.nnz
        data[begin:end], indices[begin:end] = part.data, part.indices
        ends += (begin + part.indptr[1:]).tolist()
        width = part.shape[1]
    shape = (len(ends) - 1, width)
    return csr_matrix((data[: ends[-1]], indices[: ends[-1]], np.array(ends, np.int32)), shape=shape, copy=False)
