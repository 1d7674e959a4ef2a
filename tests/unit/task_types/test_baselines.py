"""Baselines: majority and TF-IDF."""

import random

import numpy as np
import pytest
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from support.toys import cat_rows

from finetune.task_types import baselines as methods
from finetune.task_types import tfidf


def test_baselines_learn_what_words_give_away() -> None:
    rows = cat_rows(200)
    texts, golds = [row.texts for row in rows], [str(row.gold) for row in rows]
    answers, probabilities, classes = methods.tfidf_classify(texts, golds, [("cat",), ("dog",)])
    assert answers == ["yes", "no"]
    assert classes == ["no", "yes"]
    assert probabilities.sum(1) == pytest.approx([1, 1])
    assert methods.majority(["b", "a", "b", "a"], 2) == ["a", "a"]
    values = [float(gold == "yes") for gold in golds]
    low, high = methods.tfidf_regress([(t, "cat cat") for (t,) in texts], values, [("dog", "cat"), ("cat", "cat")])
    assert 0 <= low < high <= 1


@pytest.mark.parametrize("pairs", [False, True])
def test_vectors_are_those_of_scikit_learn(pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfidf, "ROWS_AT_ONCE", 7)
    generator = random.Random(0)
    words = ["Ab", "cd", "é-f", "straße", "x", "İstanbul", "the", "don't", "a_b", "12", "  ", "\tq", "..."]

    def rows(count: int, known: int) -> list[tuple[str, ...]]:
        def text() -> str:
            return " ".join(generator.choices(words[:known], k=generator.randint(1, 9)))

        return [(text(), text()) if pairs else (text(),) for _ in range(count)]

    texts, unseen = rows(40, 10), rows(20, 13)
    every = [text for row in texts for text in row]
    expected = [[], []]
    for analyzer, ngrams in tfidf.NGRAMS:
        theirs = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True, dtype=np.float32).fit(every)
        for parts, given in zip(expected, (texts, unseen), strict=True):
            a, *b = (theirs.transform([row[i] for row in given]) for i in range(len(given[0])))
            parts.append(hstack([abs(a - b[0]), a.multiply(b[0])]) if b else a)
    for ours, parts in zip(tfidf.vectors(texts, unseen), expected, strict=True):
        assert (ours != hstack(parts).tocsr()).nnz == 0
        assert ours.has_sorted_indices and ours.indices.dtype == np.int32 and ours.dtype == np.float32
