"""The page of `finetune view`: projection, size, languages."""

import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from finetune.commands.view.captions import LANGUAGES, captions
from finetune.commands.view.page import SCRIPTS, render_view
from finetune.commands.view.page_data import cosines, project
from finetune.commands.view.parts import (
    Attention,
    AttentionSteps,
    Embeddings,
    Inside,
    MarkedSentence,
    Masks,
    Outputs,
    ResidualStream,
    WordVectors,
)
from finetune.commands.view.stream import POST


def test_projection_is_that_of_scikit_learn() -> None:
    from sklearn.decomposition import PCA
    from sklearn.metrics import silhouette_score

    generator = np.random.default_rng(0)
    meanings = ["a"] * 6 + ["b"] * 8 + ["c"] * 5
    vectors = generator.normal(size=(19, 7)) + np.repeat([[0.0], [2.0], [-2.0]], [6, 8, 5], axis=0)
    found, theirs = project(vectors, meanings), PCA(2).fit(vectors)
    assert np.abs(found.points) == pytest.approx(np.abs(theirs.transform(vectors)), abs=1e-9)
    assert found.explained == pytest.approx(theirs.explained_variance_ratio_)
    assert found.silhouette == pytest.approx(silhouette_score(vectors, meanings, metric="cosine"))
    close = cosines(vectors) - 9 * np.eye(19)
    same = [meanings[row.argmax()] == mine for row, mine in zip(close, meanings, strict=True)]
    assert found.neighbours == pytest.approx(np.mean(same))


def test_equal_vectors_are_one_point_and_one_meaning_is_not_apart() -> None:
    assert project(np.ones((4, 3)), ["a", "a", "b", "b"]).explained == (0.0, 0.0)
    assert project(np.eye(3), ["", "", ""]).silhouette is None


def large(layers: int, heads: int, tokens: int, width: int) -> Inside:
    """A model of some size, of random numbers."""
    generator = np.random.default_rng(0)
    weights = generator.dirichlet(np.ones(tokens), size=(layers, heads, tokens))
    some = generator.normal(size=(1, heads, tokens, width // heads))
    steps = AttentionSteps(layers=[1], queries=some, keys=some, values=some, outputs=some, scores=weights[:1])
    sentences = [MarkedSentence(text="a <b>bank</b>", start=5, end=9, meaning="ab"[i % 2]) for i in range(40)]
    vectors = generator.normal(size=(layers + 1, 40, width))
    kinds = ("none", "padding", "causal", "both")
    masks = Masks(
        tokens=[["</script>"] * tokens] * 2,
        layers=[1, layers],
        real=np.arange(tokens)[None] < np.array([[tokens], [5]]),
        kinds=kinds,
        weights=generator.dirichlet(np.ones(tokens), size=(4, 2, 2, tokens)),
        cosines=generator.random((4, 2, 2, tokens)),
        on_padding=generator.random((4, layers, 2)),
        batch_difference=3e-6,
    )
    return Inside(
        model="<big>",
        family="<BERT>",
        left_to_right=False,
        tokens=["[CLS]", *["</script>"] * (tokens - 1)],
        token_segments=[0] * tokens,
        attention=Attention(weights=weights, separators=np.arange(tokens) == tokens - 1),
        steps=steps,
        stream=ResidualStream(stages=POST, vectors=generator.normal(size=(layers, len(POST), tokens, width))),
        masks=masks,
        written=None,
        outputs=Outputs(sequence=generator.normal(size=(tokens, width)), pooled=None),
        embeddings=Embeddings(places=[], positions=None, segments=None),
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
    for missing in ("no trained pooler", "no table of positions", "no segments"):
        assert missing in page


def test_a_family_whose_layers_are_of_another_form_is_told_so() -> None:
    page = render_view(replace(large(2, 2, 5, 8), steps=None, masks=None, stream=None))
    for missing in ("cannot be recorded", "cannot be shown", "are not shown", "보여 주지 않습니다"):
        assert missing in page


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
        assert f'"{name}"' in template or name.startswith("part-"), name
    scripts = template + "".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    built = ("mask-", "stream-", "first-vector", "mean-vector", "pooled-vector", "kept", "finished", "dropped")
    for name in captions()["script"]:
        assert f'"{name}"' in scripts or name.startswith(built), name
