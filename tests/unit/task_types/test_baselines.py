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


def test_a_pair_is_its_difference_and_its_product() -> None:
    single, _ = methods.vectors([("a cat",), ("a dog",)], [("a cat",)])
    pairs, same = methods.vectors([("a cat", "a dog"), ("a dog", "a cat")], [("a cat", "a cat")])
    assert pairs.shape[1] == 2 * single.shape[1] and (pairs[0] != pairs[1]).nnz == 0
    assert same.nnz > 0 and (same.todense() >= 0).all()  # nothing differs, and all is shared
