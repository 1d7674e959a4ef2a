"""The numbers of the page as compact JSON: whole thousandths."""

from typing import Any

import numpy as np

from finetune.commands.view.parts import AttentionSteps, Inside, WordVectors
from finetune.commands.view.projection import cosines, project

SCALE = 1_000
YOURS = "yours"


def page_data(inside: Inside) -> dict[str, Any]:
    """All that the scripts of the page draw; arrays are flat, in thousandths."""
    attention = inside.attention
    layers, heads = attention.weights.shape[:2]
    return {
        "tokens": list(inside.tokens),
        "segments": list(inside.token_segments),
        "layers": layers,
        "heads": heads,
        "weights": thousandths(attention.weights),
        "entropy": thousandths(attention.entropy),
        "distance": thousandths(attention.distance),
        "separators": thousandths(attention.on_separators),
        "steps": None if inside.steps is None else _steps(inside.steps),
        "word": _word(inside.word),
        "outputs": _outputs(inside),
        "embeddings": _embeddings(inside),
    }


def thousandths(values: np.ndarray) -> list[int]:
    """The values times 1000, rounded, flat."""
    found: list[int] = np.rint(values * SCALE).astype(int).ravel().tolist()
    return found


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
    named = {f"{inside.tokens[0]} vector": sequence[0], "mean of all tokens": sequence.mean(0)}
    if pooled is not None:
        named["pooled output"] = pooled
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
