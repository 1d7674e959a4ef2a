"""Baselines: majority and TF-IDF."""

import pytest
from support.toys import cat_rows

from finetune.task_types import baselines as methods


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
