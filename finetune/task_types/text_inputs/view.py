"""The texts of a row in a report."""

from collections.abc import Sequence

import numpy as np

from finetune.task_types.marked_text import TextPart, unmarked
from finetune.task_types.view import Line, View


class RowTextView(View):
    """Of rows with a text, or a pair of texts."""

    def lengths(self) -> np.ndarray:
        """Characters of each row's texts."""
        return np.array([len(line["text"]) + len(line.get("pair") or "") for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        """The text, or both texts of a pair."""
        return [unmarked(name, line[name]) for name in ("text", "pair") if line.get(name) is not None]


def probabilities_by_label(labels: Sequence[str], line: Line) -> dict[str, float]:
    """The probabilities of a line by the names of the labels; empty where these are unknown."""
    given = line.get("probabilities") or ()
    return dict(zip(labels, given, strict=True)) if len(labels) == len(given) else {}
