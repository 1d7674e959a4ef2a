"""The nearest of some texts to each of others, by cosine of TF-IDF vectors."""

from collections.abc import Sequence

import numpy as np

from finetune.task_types.baselines import read_rows
from finetune.task_types.tfidf import vectors

ROWS_AT_ONCE = 500  # texts whose likeness to all others is in memory


def nearest_rows(texts: Sequence[str], unseen: Sequence[str]) -> list[int]:
    """The index of the nearest text to each unseen one, the first of several; 0 for one that shares nothing.

    Of many texts a random sample is read.
    """
    chosen = read_rows([(text,) for text in texts])
    try:
        seen, new = vectors([(texts[index],) for index in chosen], [(text,) for text in unseen])
    except ValueError:  # scikit-learn's, where no text has a word
        return [0] * len(unseen)
    found: list[int] = []
    for begin in range(0, len(unseen), ROWS_AT_ONCE):
        likeness = new[begin : begin + ROWS_AT_ONCE] @ seen.T
        found += chosen[np.asarray(likeness.toarray().argmax(1)).ravel()].tolist()
    return found
