"""The numbers of the page as compact JSON: whole thousandths."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.commands.view.captions import script_captions
from finetune.commands.view.parts import (
    AttentionSteps,
    Guess,
    Inside,
    Masks,
    ResidualStream,
    StartCompared,
    TokenInputs,
    WordVectors,
)

SCALE = 1_000
YOURS = "yours"
FIRST_NUMBERS = 24  # of a vector in a strip
MOST_FIRST = 150_000  # such numbers on a page
SAME = 1e-6  # vectors that differ by less are one point


def page_data(inside: Inside) -> dict[str, Any]:
    """All that the scripts of the page draw; arrays are flat, in thousandths."""
    attention = inside.attention
    layers, heads = attention.weights.shape[:2]
    return {
        "tokens": list(inside.tokens),
        "segments": list(inside.token_segments),
        "special": attention.special.tolist(),
        "inputs": _inputs(inside.inputs),
        "hidden": [[_guess(one) for one in word] for word in inside.hidden.words],
        "before": None if inside.before is None or inside.before.compared is None else _before(inside.before.compared),
        "reads": [] if inside.head is None else list(inside.head.reads),
        "layers": layers,
        "heads": heads,
        "opens": list(attention.telling),
        "weights": thousandths(attention.weights),
        "choice": thousandths(attention.choice),
        "entropy": thousandths(attention.entropy),
        "distance": thousandths(attention.distance),
        "separators": thousandths(attention.on_separators),
        "steps": None if inside.steps is None else _steps(inside.steps),
        "word": _word(inside.word),
        "outputs": _outputs(inside),
        "embeddings": _embeddings(inside),
        "masks": None if inside.masks is None else _masks(inside.masks),
        "stream": None if inside.stream is None else _stream(inside.stream),
        "captions": script_captions(),
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
    return {
        "place": guess.place,
        "tokens": list(guess.tokens),
        "probabilities": [float(f"{share:.3g}") for share in guess.probabilities],
        "probability": None if guess.probability is None else float(f"{guess.probability:.3g}"),
        "rank": guess.rank,
    }


def _before(before: StartCompared) -> dict[str, Any]:
    return {
        "layers": list(before.layers),
        "weights": thousandths(before.weights),
        "moved": thousandths(before.moved),
        "cosines": thousandths(before.cosines),
    }


def _steps(steps: AttentionSteps) -> dict[str, Any]:
    names = ("queries", "keys", "values", "scores", "outputs")
    return {
        "layers": list(steps.layers),
        "width": steps.queries.shape[-1],
        **{name: thousandths(getattr(steps, name)) for name in names},
    }


def _word(word: WordVectors) -> dict[str, Any]:
    meanings = [YOURS if sentence.yours else sentence.meaning for sentence in word.sentences]
    judged = [None if sentence.yours else sentence.meaning for sentence in word.sentences]
    vectors = [word.context_free, *word.layers]
    stages = [project(each, judged) for each in vectors]
    yours = [index for index, sentence in enumerate(word.sentences) if sentence.yours]
    return {
        "word": word.word,
        "sentences": [
            [one.text[: one.start], one.text[one.start : one.end], one.text[one.end :]] for one in word.sentences
        ],
        "meanings": meanings,
        "close": [float(cosines(each[yours])[0, 1]) for each in vectors] if len(yours) == 2 else None,
        "tokens": list(word.tokens),
        "points": [thousandths(stage.points) for stage in stages],
        "explained": [stage.explained for stage in stages],
        "silhouette": [stage.silhouette for stage in stages],
        "neighbours": [stage.neighbours for stage in stages],
    }


def _outputs(inside: Inside) -> dict[str, Any]:
    sequence, pooled = inside.outputs.sequence, inside.outputs.pooled
    named = {"first": sequence[0], "mean": sequence.mean(0)}
    if pooled is not None:
        named["pooled"] = pooled
    return {
        "names": list(named),
        "strips": [thousandths(vector) for vector in named.values()],
        "cosines": thousandths(cosines(np.stack(list(named.values())))),
        "tokens": thousandths(cosines(sequence)),
        "shape": list(sequence.shape),
    }


def _embeddings(inside: Inside) -> dict[str, Any]:
    tables = inside.embeddings
    return {
        "places": list(tables.places),
        "positions": None if tables.positions is None else thousandths(cosines(tables.positions)),
        "segments": None if tables.segments is None else thousandths(cosines(tables.segments)),
        "lengths": [] if tables.segments is None else thousandths(np.linalg.norm(tables.segments, axis=1)),
    }


def _masks(masks: Masks) -> dict[str, Any]:
    return {
        "tokens": [list(row) for row in masks.tokens],
        "real": masks.real.tolist(),
        "layers": list(masks.layers),
        "kinds": list(masks.kinds),
        "weights": thousandths(masks.weights),
        "cosines": thousandths(masks.cosines),
        "padding": thousandths(masks.on_padding),
    }


def _stream(stream: ResidualStream) -> dict[str, Any]:
    layers, stages, tokens, width = stream.vectors.shape
    count = max(1, min(FIRST_NUMBERS, width, MOST_FIRST // (layers * stages * tokens)))
    return {
        "form": "pre" if stream.norm_first else "post",
        "stages": list(stream.stages),
        "lengths": thousandths(np.linalg.norm(stream.vectors, axis=-1)),
        "means": thousandths(stream.vectors.mean(-1)),
        "deviations": thousandths(stream.vectors.std(-1)),
        "numbers": thousandths(stream.vectors[..., :count]),
        "count": count,
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
