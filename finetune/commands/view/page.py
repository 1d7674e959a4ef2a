"""The page: its numbers as compact JSON, and its texts in each language."""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.analysis.pages.templates import templates_of, write_page
from finetune.commands.view.parts import Guess, Inside, StartCompared, TokenInputs, WordVectors
from finetune.errors import UserError

if TYPE_CHECKING:
    from markupsafe import Markup

PACKAGE = "finetune.commands.view"
LANGUAGES = ("en", "ko")
PARTS = ("tokens", "hidden", "attention", "words", "before")  # in the order of the page
SCRIPTS = ("drawing", "captions", *PARTS)
SCALE = 1_000
YOURS = "yours"
FIRST_NUMBERS = 24  # of a vector in a strip
SAME = 1e-6  # vectors that differ by less are one point


@cache
def captions() -> dict[str, dict[str, dict[str, str]]]:
    """By part of the page (`page`, `script`), by name and by language."""
    return tomllib.loads((files(PACKAGE) / "captions.toml").read_text(encoding="utf-8"))


def require_language(lang: str | None) -> None:
    """Raises UserError for a language that the page does not have; None is the browser's."""
    if lang is not None and lang not in LANGUAGES:
        raise UserError(f"`lang` is '{lang}'", f"Choose {' or '.join(LANGUAGES)}")


def write_inside(inside: Inside, output: Path, *, language: str | None = None) -> int:
    """Writes the page and returns its size in bytes. It opens in a language, by default in that of the browser.

    Raises UserError without jinja2, and if it cannot be written.
    """
    return write_page(render_view(inside, language=language), output)


def render_view(inside: Inside, *, language: str | None = None) -> str:
    """The page as HTML. Raises UserError without jinja2."""
    parts = [name for name in PARTS if name != "before" or inside.before is not None]
    templates = templates_of(PACKAGE)
    templates.filters["filled"] = _filled
    return templates.get_template("page.html.j2").render(
        inside=inside,
        data=page_data(inside) | {"language": language},
        language=language or LANGUAGES[0],
        numbers={name: number for number, name in enumerate(parts, start=1)},
        scripts=SCRIPTS,
        languages=LANGUAGES,
        captions=captions()["page"],
    )


def _filled(text: str, **values: Any) -> "Markup":
    """A text of the page, which is HTML, with values, which are not."""
    from markupsafe import Markup

    return Markup(text).format(**values) if values else Markup(text)


def page_data(inside: Inside) -> dict[str, Any]:
    """All that the scripts of the page draw; arrays are flat, in whole thousandths."""
    attention = inside.attention
    layers, heads = attention.weights.shape[:2]
    return {
        "tokens": list(inside.tokens),
        "segments": list(inside.token_segments),
        "inputs": _inputs(inside.inputs),
        "hidden": [[_guess(one) for one in word] for word in inside.hidden.words],
        "before": None if inside.before is None or inside.before.compared is None else _before(inside.before.compared),
        "layers": layers,
        "heads": heads,
        "opens": list(attention.telling),
        "weights": thousandths(attention.weights),
        "choice": thousandths(attention.choice),
        "entropy": thousandths(attention.entropy),
        "distance": thousandths(attention.distance),
        "separators": thousandths(attention.on_separators),
        "word": _word(inside.word),
        "captions": {
            language: {name: text[language] for name, text in captions()["script"].items()} for language in LANGUAGES
        },
    }


def thousandths(values: np.ndarray) -> list[int]:
    """The values times 1000, rounded, flat."""
    found: list[int] = np.rint(values * SCALE).astype(int).ravel().tolist()
    return found


def _inputs(inputs: TokenInputs) -> dict[str, Any]:
    shown = [*inputs.vectors, *([inputs.vectors.sum(0)] if len(inputs.vectors) > 1 else []), inputs.given]
    count = min(FIRST_NUMBERS, *(each.shape[-1] for each in shown))
    return {
        "ids": list(inputs.ids),
        "numbers": list(inputs.numbers),
        "words": list(inputs.words),
        "unknown": list(inputs.unknown),
        "positions": None if inputs.positions is None else list(inputs.positions),
        "parts": [*inputs.parts, *["sum"] * (len(inputs.parts) > 1), "given"],
        "lengths": [thousandths(np.linalg.norm(each, axis=-1)) for each in shown],
        "first": [thousandths(each[:, :count]) for each in shown],
        "count": count,
    }


def _guess(guess: Guess) -> dict[str, Any]:
    return asdict(guess) | {
        "probabilities": [float(f"{share:.3g}") for share in guess.probabilities],
        "probability": None if guess.probability is None else float(f"{guess.probability:.3g}"),
    }


def _before(before: StartCompared) -> dict[str, Any]:
    return {
        "weights": thousandths(before.weights),
        "moved": thousandths(before.moved),
        "cosines": thousandths(before.cosines),
    }


def _word(word: WordVectors) -> dict[str, Any]:
    judged = [None if sentence.yours else sentence.meaning for sentence in word.sentences]
    vectors = [word.context_free, *word.layers]
    stages = [project(each, judged) for each in vectors]
    yours = [index for index, sentence in enumerate(word.sentences) if sentence.yours]
    return {
        "word": word.word,
        "sentences": [
            [one.text[: one.start], one.text[one.start : one.end], one.text[one.end :]] for one in word.sentences
        ],
        "meanings": [YOURS if meaning is None else meaning for meaning in judged],
        "close": [float(cosines(each[yours])[0, 1]) for each in vectors] if len(yours) == 2 else None,
        "points": [thousandths(stage.points) for stage in stages],
        "explained": [stage.explained for stage in stages],
        "silhouette": [stage.silhouette for stage in stages],
        "neighbours": [stage.neighbours for stage in stages],
    }


@dataclass(frozen=True, kw_only=True)
class Projection:
    """Points `(n, 2)` on the two principal components, and the share of the variance that each explains.

    `silhouette` (-1 to 1) and `neighbours` (the share of vectors whose nearest one by cosine has the same meaning) are
    of the vectors themselves, not of the points; None where there is one meaning, or one point.
    """

    points: np.ndarray
    explained: tuple[float, float]
    silhouette: float | None = None
    neighbours: float | None = None


def project(vectors: np.ndarray, meanings: Sequence[str | None]) -> Projection:
    """The projection of vectors `(n, width)`, with n of at least 2; those without a meaning (None) are not judged."""
    centred = vectors - vectors.mean(0)
    if np.abs(centred).max() < SAME:
        return Projection(points=np.zeros((len(vectors), 2)), explained=(0.0, 0.0))
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    known = [index for index, meaning in enumerate(meanings) if meaning is not None]
    silhouette, neighbours = _apart(vectors[known], np.array([str(meanings[index]) for index in known]))
    return Projection(
        points=left[:, :2] * sizes[:2],
        explained=(float(shares[0]), float(shares[1])),
        silhouette=silhouette,
        neighbours=neighbours,
    )


def cosines(vectors: np.ndarray) -> np.ndarray:
    """Cosine of each pair of vectors `(n, width)`: `(n, n)`."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: np.ndarray = units @ units.T
    return found


def _apart(vectors: np.ndarray, meanings: np.ndarray) -> tuple[float | None, float | None]:
    names, counts = np.unique(meanings, return_counts=True)
    if len(names) < 2 or counts.min() < 2:
        return None, None
    close = cosines(vectors)
    np.fill_diagonal(close, -np.inf)
    neighbours = float((meanings[close.argmax(1)] == meanings).mean())
    np.fill_diagonal(close, 1)
    apart = 1 - close
    to_each = np.stack([apart[:, meanings == name].sum(1) for name in names], axis=1)
    own = names.searchsorted(meanings)
    rows = np.arange(len(meanings))
    inside = to_each[rows, own] / (counts[own] - 1)
    means = to_each / counts
    means[rows, own] = np.inf
    outside = means.min(1)
    return float(((outside - inside) / np.maximum(outside, inside)).mean()), neighbours
