"""The page of `finetune view`: projection, size, the head on which it opens."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from finetune.commands.view.encoder import Inside
from finetune.commands.view.page import project, render_view
from finetune.commands.view.word_vectors import MarkedSentence, WordVectors


def test_projection_is_that_of_scikit_learn() -> None:
    from sklearn.decomposition import PCA
    from sklearn.metrics import silhouette_score
    from sklearn.metrics.pairwise import cosine_similarity

    generator = np.random.default_rng(0)
    meanings = ["a"] * 6 + ["b"] * 8 + ["c"] * 5
    vectors = generator.normal(size=(19, 7)) + np.repeat([[0.0], [2.0], [-2.0]], [6, 8, 5], axis=0)
    found, theirs = project(vectors, meanings), PCA(2).fit(vectors)
    assert np.abs(found["points"]) == pytest.approx(np.abs(theirs.transform(vectors)), abs=1e-9)
    assert found["explained"] == pytest.approx(theirs.explained_variance_ratio_)
    assert found["silhouette"] == pytest.approx(silhouette_score(vectors, meanings, metric="cosine"))
    close = cosine_similarity(vectors) - 9 * np.eye(19)
    same = [meanings[row.argmax()] == mine for row, mine in zip(close, meanings, strict=True)]
    assert found["neighbours"] == pytest.approx(np.mean(same))


def test_equal_vectors_are_one_point_and_one_meaning_is_not_apart() -> None:
    assert project(np.ones((4, 3)), ["a", "a", "b", "b"])["explained"] == (0.0, 0.0)
    assert project(np.eye(3), ["", "", ""])["silhouette"] is None


def large(weights: np.ndarray, width: int = 8) -> Inside:
    """A model of some size, of random numbers."""
    generator, layers, tokens = np.random.default_rng(0), len(weights), weights.shape[-1]
    sentences = [MarkedSentence(text="a <b>bank</b>", start=5, end=9, meaning="ab"[i % 2]) for i in range(40)]
    vectors = generator.normal(size=(layers + 1, 40, width))
    return Inside(
        model="<big>",
        family="<BERT>",
        width=width,
        tokens=["[CLS]", *["</script>"] * (tokens - 1)],
        segments=[0] * tokens,
        ids=range(tokens),
        numbers=[-1, *range(tokens - 2), -1],
        words=["</script>"] * (tokens - 2),
        unknown=[False, True] + [False] * (tokens - 2),
        hidden=[[{"place": 1, "tokens": ["<i>"], "probabilities": [1], "probability": 0.1, "rank": 2}]],
        weights=weights,
        word=WordVectors(
            word="bank", sentences=sentences, tokens=["bank"] * 40, context_free=vectors[0], layers=vectors
        ),
    )


def random_heads(layers: int, heads: int, tokens: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(tokens), size=(layers, heads, tokens))


def test_the_page_of_a_base_model_is_under_5_mb_and_asks_for_nothing() -> None:
    page = render_view(large(random_heads(12, 12, 64), 768))
    assert len(page.encode()) < 5e6
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "default-src 'none'" in page
    assert "&lt;big&gt;" in page
    assert "&lt;BERT&gt;" in page
    assert "<BERT>" not in page
    assert page.count("</script>") == 2
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert data["tokens"][1] == "</script>"


def test_a_model_without_hidden_words_says_so() -> None:
    page = render_view(replace(large(random_heads(2, 2, 5)), hidden=None))
    part = page[page.index('id="part-hidden"') : page.index('id="part-attention"')]
    assert "corpus.txt" in part
    assert "hidden-chips" not in part


def test_it_opens_on_the_head_whose_tokens_choose() -> None:
    """Not on one that is even, that looks at itself, at [SEP], at one word, or at what is next to it."""
    n = 8
    even, own, after = np.full((n, n), 1 / n), np.eye(n), np.roll(np.eye(n), 1, axis=1)
    last, third = np.zeros((n, n)), np.zeros((n, n))
    last[:, -1], third[:, 3] = 1, 1
    chosen = np.eye(n)[[0, 4, 5, 6, 1, 2, 3, 7]]
    inside = large(np.stack([even, own, last, third, after, chosen])[None])
    assert inside.choice.argmax() == 5
    assert inside.choice[0, :4] == pytest.approx(0, abs=1e-9)
    assert replace(inside, numbers=[-1] * n).choice.tolist() == [[0] * 6]
