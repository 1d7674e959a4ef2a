"""The page: its numbers as compact JSON, and its texts in each language."""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.analysis.pages.templates import templates_of
from finetune.errors import UserError

if TYPE_CHECKING:
    from finetune.commands.view.look import Inside, TokenInputs
    from finetune.commands.view.word_vectors import WordVectors

PACKAGE = "finetune.commands.view"
LANGUAGES = ("en", "ko")
PARTS = ("tokens", "hidden", "attention", "words")  # in the order of the page
SCALE = 1_000
FIRST_NUMBERS = 24  # of a vector in a strip
SAME = 1e-6  # vectors that differ by less are one point


@cache
def captions() -> dict[str, dict[str, dict[str, str]]]:
    """By part of the page (`page`, `script`), by name and by language."""
    return tomllib.loads((files(PACKAGE) / "captions.toml").read_text(encoding="utf-8"))


def require_language(lang: str | None) -> None:
    """Raises UserError for a language that the page does not have; None is the browser's."""
    if lang not in (None, *LANGUAGES):
        raise UserError(f"`lang` is '{lang}'", f"Choose {' or '.join(LANGUAGES)}")


def render_view(inside: "Inside", *, language: str | None = None) -> str:
    """The page as HTML, with all that its script draws; arrays are flat, in whole thousandths.

    Raises UserError without jinja2.
    """
    attention, choice, script = inside.attention, inside.attention.choice, captions()["script"].items()
    layers, heads = choice.shape
    data = {
        "language": language, "tokens": list(inside.tokens), "segments": list(inside.token_segments),
        "inputs": _inputs(inside.inputs), "hidden": inside.hidden or [], "layers": layers, "heads": heads,
        "opens": list(divmod(int(choice.argmax()), heads)), "weights": _thousandths(attention.weights),
        "choice": _thousandths(choice), "entropy": _thousandths(attention.entropy),
        "distance": _thousandths(attention.distance), "separators": _thousandths(attention.on_separators),
        "word": _word(inside.word),
        "captions": {language: {name: text[language] for name, text in script} for language in LANGUAGES},
    }  # fmt: skip
    return templates_of(PACKAGE).get_template("page.html.j2").render(
        inside=inside, data=data, language=language or LANGUAGES[0], parts=PARTS, languages=LANGUAGES,
        captions=captions()["page"],
    )  # fmt: skip


def _thousandths(values: np.ndarray) -> list[int]:
    return list(map(int, np.rint(values * SCALE).ravel()))


def _inputs(inputs: "TokenInputs") -> dict[str, Any]:
    vectors = dict(inputs.parts)
    if len(vectors) > 1:
        vectors["sum"] = np.sum(list(vectors.values()), axis=0)
    vectors["given"] = inputs.given
    count = min(FIRST_NUMBERS, *(vector.shape[-1] for vector in vectors.values()))
    return {
        **{name: list(getattr(inputs, name)) for name in ("ids", "numbers", "words", "unknown")},
        "parts": list(vectors),
        "lengths": [_thousandths(np.linalg.norm(vector, axis=-1)) for vector in vectors.values()],
        "first": [_thousandths(vector[:, :count]) for vector in vectors.values()],
        "count": count,
    }


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
