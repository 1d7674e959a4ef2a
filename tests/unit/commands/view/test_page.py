"""The page of `finetune view`: projection, size, languages."""

import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from finetune.commands.view.look import HeadWeights, Inside, TokenInputs
from finetune.commands.view.page import LANGUAGES, captions, project, render_view, require_language
from finetune.commands.view.word_vectors import MarkedSentence, WordVectors
from finetune.errors import UserError

BUILT = ("title-",)  # names that the template puts together


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


def large(layers: int, heads: int, tokens: int, width: int) -> Inside:
    """A model of some size, of random numbers."""
    generator = np.random.default_rng(0)
    weights = generator.dirichlet(np.ones(tokens), size=(layers, heads, tokens))
    sentences = [MarkedSentence(text="a <b>bank</b>", start=5, end=9, meaning="ab"[i % 2]) for i in range(40)]
    vectors = generator.normal(size=(layers + 1, 40, width))
    return Inside(
        model="<big>",
        family="<BERT>",
        tokens=["[CLS]", *["</script>"] * (tokens - 1)],
        token_segments=[0] * tokens,
        inputs=TokenInputs(
            ids=range(tokens),
            numbers=[-1, *range(tokens - 1)],
            words=["</script>"] * (tokens - 1),
            unknown=[False, True] + [False] * (tokens - 2),
            parts={name: generator.normal(size=(tokens, width)) for name in ("token", "position")},
            given=generator.normal(size=(tokens, width)),
        ),
        hidden=[[{"place": 1, "tokens": ["<i>"], "probabilities": [1], "probability": 0.1, "rank": 2}]],
        attention=HeadWeights(
            weights=weights, separators=np.arange(tokens) == tokens - 1, special=np.arange(tokens) == 0
        ),
        word=WordVectors(
            word="bank", sentences=sentences, tokens=["bank"] * 40, context_free=vectors[0], layers=vectors
        ),
    )


def test_the_page_of_a_base_model_is_under_5_mb_and_asks_for_nothing() -> None:
    page = render_view(large(12, 12, 64, 768))
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
    assert "adds no segment" in page


def test_every_text_is_in_both_languages_and_takes_the_same_values() -> None:
    for part in captions().values():
        for name, texts in part.items():
            assert tuple(texts) == LANGUAGES, name
            english, korean = (sorted(set(re.findall(r"\{(\w+)\}", texts[language]))) for language in LANGUAGES)
            assert english == korean, name
            assert re.search("[가-힣]", texts["ko"]) or texts["ko"] == texts["en"], name


def test_every_text_is_used() -> None:
    folder = files("finetune.commands.view")
    template = (folder / "page.html.j2").read_text(encoding="utf-8")
    for name in captions()["page"]:
        assert f'"{name}"' in template or name.startswith(BUILT), name
    scripts = template + (folder / "page.js").read_text(encoding="utf-8")
    built = ("of-", "row-of-")
    for name in captions()["script"]:
        assert f'"{name}"' in scripts or name.startswith(built), name


def test_what_a_page_cannot_show_it_says() -> None:
    """One sentence each: why, and what would."""
    inside = large(2, 2, 5, 8)
    page = render_view(replace(inside, hidden=None))
    part = page[page.index('id="part-hidden"') : page.index('id="part-attention"')]
    assert "corpus.txt" in part
    assert "hidden-chips" not in part
    empty = replace(inside.inputs, parts={})
    assert "is not such a sum" in render_view(replace(inside, inputs=empty))


def test_parts_are_numbered_without_gaps() -> None:
    page = render_view(large(2, 2, 5, 8))
    titles = re.findall(r'<h2 id="title-\w+">(\d+) ', page)
    assert titles == ["1", "2", "3", "4"]
    links = re.findall(r'href="#(part-\w+)">(\d+) ', page)
    assert [number for _, number in links] == titles
    assert all(f'<section id="{name}"' in page for name, _ in links)


def test_a_page_opens_in_a_language() -> None:
    inside = large(2, 2, 5, 8)
    data = re.search(r'id="data">(.*?)</script>', render_view(inside, language="ko"), re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["language"] == "ko"
    with pytest.raises(UserError, match="fr"):
        require_language("fr")


def test_it_opens_on_the_head_whose_tokens_choose() -> None:
    """Not on one that is even, that looks at itself, at [SEP], at one word, or at what is next to it."""
    n = 8
    even, own, after = np.full((n, n), 1 / n), np.eye(n), np.roll(np.eye(n), 1, axis=1)
    last, third = np.zeros((n, n)), np.zeros((n, n))
    last[:, -1], third[:, 3] = 1, 1
    chosen = np.eye(n)[[0, 4, 5, 6, 1, 2, 3, 7]]
    special = np.isin(np.arange(n), (0, n - 1))

    def attention(*heads: np.ndarray) -> HeadWeights:
        weights = np.stack(heads)[None]
        return HeadWeights(weights=weights, separators=np.arange(n) == n - 1, special=special)

    found = attention(even, own, last, third, after, chosen)
    assert found.choice.argmax() == 5
    assert found.choice[0, :4] == pytest.approx(0, abs=1e-9)
    nothing = HeadWeights(weights=even[None, None], separators=special, special=np.ones(n, bool))
    assert nothing.choice.tolist() == [[0]]
