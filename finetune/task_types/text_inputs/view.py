"""The texts of a row in a report."""

from collections.abc import Sequence

import numpy as np

from finetune.task_types.marked_text import TextPart, unmarked
from finetune.task_types.view import Line


def text_parts(line: Line) -> list[TextPart]:
    """The text, or both texts of a pair."""
    return [unmarked(name, line[name]) for name in ("text", "pair") if line.get(name) is not None]


def probabilities_by_label(labels: Sequence[str], line: Line) -> dict[str, float]:
    """The probabilities of a line by the names of the labels; empty where these are unknown."""
    given = line.get("probabilities") or ()
    return dict(zip(labels, given, strict=True)) if len(labels) == len(given) else {}


def text_lengths(lines: list[Line]) -> np.ndarray:
    """The number of characters of each line's texts."""
    return np.array([len(line["text"]) + len(line.get("pair") or "") for line in lines])
