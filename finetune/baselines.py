"""Cheap methods whose scores stand beside every result: they answer whether an encoder is worth its cost here."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_ROWS = 20_000  # more add seconds to minutes and little to the score; a random subset is drawn above


def majority(labels: Sequence[str], count: int) -> list[str]:
    """The most frequent label (the first in the alphabet of several), `count` times."""
    counts = Counter(labels)
    return [min(counts, key=lambda label: (-counts[label], label))] * count


def mean(values: Sequence[float], count: int) -> list[float]:
    """The mean, `count` times."""
    return [float(np.mean(values))] * count


def tfidf_classify(
    texts: Sequence[tuple[str, ...]], labels: Sequence[str], unseen: Sequence[tuple[str, ...]]
) -> tuple[list[str], np.ndarray, list[str]]:
    """Logistic regression on TF-IDF: answers for `unseen`, their probabilities `(rows, classes)`, the classes."""
    from sklearn.linear_model import LogisticRegression

    texts, labels = _subset(texts, labels)
    if len(set(labels)) < 2 or not _has_words(texts):
        constant = majority(labels, len(unseen))
        return constant, np.ones((len(unseen), 1)), constant[:1]
    train, new = _vectors(texts, unseen)
    model = LogisticRegression(max_iter=300).fit(train, labels)
    probabilities = model.predict_proba(new)
    return [str(model.classes_[i]) for i in probabilities.argmax(1)], probabilities, [str(c) for c in model.classes_]


def tfidf_regress(
    texts: Sequence[tuple[str, ...]], values: Sequence[float], unseen: Sequence[tuple[str, ...]]
) -> list[float]:
    """Ridge regression on TF-IDF, within the range of the values seen."""
    from sklearn.linear_model import Ridge

    texts, values = _subset(texts, values)
    if not _has_words(texts):
        return mean(values, len(unseen))
    train, new = _vectors(texts, unseen)
    answers = Ridge(alpha=1.0).fit(train, values).predict(new)
    return [float(x) for x in np.clip(answers, min(values), max(values))]


def _subset(texts: Sequence[tuple[str, ...]], gold: Sequence[Any]) -> tuple[Sequence[tuple[str, ...]], Sequence[Any]]:
    if len(texts) <= MOST_ROWS:
        return texts, gold
    chosen = np.random.default_rng(0).choice(len(texts), MOST_ROWS, replace=False)
    return [texts[i] for i in chosen], [gold[i] for i in chosen]


def _has_words(texts: Sequence[tuple[str, ...]]) -> bool:
    """Whether there is anything to count: scikit-learn counts words of two characters or more."""
    return any(re.search(r"\w\w", text) for row in texts for text in row)


def _vectors(texts: Sequence[tuple[str, ...]], unseen: Sequence[tuple[str, ...]]) -> "tuple[csr_matrix, csr_matrix]":
    """Words 1-2 and characters 2-4; a pair (a, b) becomes |a - b| and a * b side by side."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    every = [text for row in texts for text in row]
    parts = []
    for analyzer, ngrams in (("word", (1, 2)), ("char_wb", (2, 4))):
        vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True, dtype=np.float32)
        vectorizer.fit(every)
        for rows in (texts, unseen):
            columns = [vectorizer.transform([row[i] for row in rows]) for i in range(len(rows[0]))]
            if len(columns) == 2:
                a, b = columns
                columns = [abs(a - b), a.multiply(b)]
            parts.append(hstack(columns))
    return hstack([parts[0], parts[2]]).tocsr(), hstack([parts[1], parts[3]]).tocsr()
