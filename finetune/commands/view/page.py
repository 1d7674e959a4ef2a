"""The page: its numbers as compact JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.analysis.pages.templates import templates_of

if TYPE_CHECKING:
    from finetune.commands.view.encoder import Inside
    from finetune.commands.view.word_vectors import WordVectors

TITLES = {  # of the parts, in the order of the page
    "tokens": "Words, pieces and ids",
    "hidden": "Hide a word",
    "attention": "Attention by layer and head",
    "words": "One word in many sentences",
}
SCALE = 1_000
SAME = 1e-6  # vectors that differ by less are one point


def render_view(inside: "Inside") -> str:
    """The page as HTML, with all that its script draws; arrays are flat, in whole thousandths.

    Raises UserError without jinja2.
    """
    choice = inside.choice
    layers, heads = choice.shape
    lists = ("tokens", "segments", "ids", "numbers", "words", "unknown")
    data = {name: list(getattr(inside, name)) for name in lists} | {
        "hidden": inside.hidden or [], "layers": layers, "heads": heads, "weights": _thousandths(inside.weights),
        "opens": list(divmod(int(choice.argmax()), heads)), "word": _word(inside.word),
    }  # fmt: skip
    titles = TITLES | {"words": f"{TITLES['words']}: “{inside.word.word}”"}
    return (
        templates_of("finetune.commands.view")
        .get_template("page.html.j2")
        .render(inside=inside, data=data, titles=titles)
    )


def _thousandths(values: np.ndarray) -> list[int]:
    return list(map(int, np.rint(values * SCALE).ravel()))


def _word(word: "WordVectors") -> dict[str, Any]:
    from sklearn.metrics.pairwise import cosine_similarity

    meanings = [sentence.meaning for sentence in word.sentences]
    stages = [word.context_free, *word.layers]
    drawn = [project(stage, meanings) for stage in stages]
    typed = [place for place, meaning in enumerate(meanings) if meaning is None]
    return {
        "word": word.word,
        "sentences": [
            [marked.text[: marked.start], marked.text[marked.start : marked.end], marked.text[marked.end :]]
            for marked in word.sentences
        ],
        "meanings": ["yours" if meaning is None else meaning for meaning in meanings],
        "close": [float(cosine_similarity(stage[typed])[0, 1]) for stage in stages] if len(typed) == 2 else None,
        "points": [_thousandths(stage["points"]) for stage in drawn],
        **{name: [stage[name] for stage in drawn] for name in ("explained", "silhouette", "neighbours")},
    }


def project(vectors: np.ndarray, meanings: Sequence[str | None]) -> dict[str, Any]:
    """The vectors `(n, width)`, with n of at least 2, on their two principal components.

    The `points` `(n, 2)`, the share of the variance that each component has (`explained`), and of the vectors
    themselves `silhouette` (-1 to 1) and `neighbours`, the share of vectors whose nearest one by cosine has the same
    meaning; both None where there is one meaning, or one point. Vectors without a meaning (None) are not judged.
    """
    from sklearn.decomposition import PCA
    from sklearn.metrics import silhouette_score
    from sklearn.metrics.pairwise import cosine_similarity

    unjudged = {"silhouette": None, "neighbours": None}
    if np.ptp(vectors, axis=0).max() < SAME:
        return {"points": np.zeros((len(vectors), 2)), "explained": (0.0, 0.0), **unjudged}
    pca = PCA(2).fit(vectors)
    drawn = {"points": pca.transform(vectors), "explained": tuple(map(float, pca.explained_variance_ratio_))}
    judged = [place for place, meaning in enumerate(meanings) if meaning is not None]
    of, shown = np.array([str(meanings[place]) for place in judged]), vectors[judged]
    _, counts = np.unique(of, return_counts=True)
    if len(counts) < 2 or counts.min() < 2:
        return drawn | unjudged
    close = cosine_similarity(shown)
    np.fill_diagonal(close, -np.inf)
    return drawn | {
        "silhouette": float(silhouette_score(shown, of, metric="cosine")),
        "neighbours": float((of[close.argmax(1)] == of).mean()),
    }
