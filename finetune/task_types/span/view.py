"""Answers to questions in a report: marked in their context, right where they equal one of the label texts."""

import re
from collections.abc import Iterator

import numpy as np

from finetune.metrics.squad import score_v1, score_v2
from finetune.task_types.marked_text import TextPart, spans, unmarked
from finetune.task_types.view import Line, View

NONE = "no answer"


class SpanView(View):
    """A span of a context, or no answer."""

    measure = "F1 of the words"
    decision = "answers"
    square = False

    @staticmethod
    def fits(line: Line) -> bool:
        return "question" in line and "context" in line

    def scores(self) -> np.ndarray:
        """SQuAD's F1 with the best of the label texts."""
        return np.array([_scores(line)[1] for line in self.lines])

    def wrong(self) -> np.ndarray:
        """Another text, but for what SQuAD's exact match overlooks."""
        return np.array([_scores(line)[0] < 1 for line in self.lines])

    def lengths(self) -> np.ndarray:
        """The number of characters of the context."""
        return np.array([len(line["context"]) for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        """The question, and the context with label and prediction marked."""
        return [unmarked("question", line["question"]), spans("context", line["context"], list(_marks(line)))]

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The prediction's probability among the n-best; right where the texts are the same."""
        if not self.lines or self.lines[0].get("score") is None:
            return None
        right = np.array([_scores(line)[0] == 1 for line in self.lines])
        return np.array([line["score"] for line in self.lines], float), right

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """(whether there is an answer, the outcome)."""
        return [("an answer" if line["gold"] else NONE, _outcome(line))]

    def says(self, value: object) -> str:
        return str(value) or NONE


def _scores(line: Line) -> tuple[float, float]:
    """(exact match, F1)"""
    score = score_v1 if line.get("no_answer") is None and line.get("answers") else score_v2
    return score(line.get("answers") or (), line["prediction"])


def _outcome(line: Line) -> str:
    """The outcome of a prediction, as a column of the confusion matrix."""
    exact, f1 = _scores(line)
    if not line["prediction"]:
        return NONE
    return "the same text" if exact else "shares words" if f1 else "another text"


def _marks(line: Line) -> Iterator[tuple[int, int, str]]:
    """(start, end, mark) of the prediction, and of the label where its text is nearest to it."""
    start, end = int(line.get("start") or 0), int(line.get("end") or 0)
    if line["prediction"] and line["context"][start:end] == line["prediction"]:
        yield start, end, "prediction"
    golds = re.finditer(re.escape(line["gold"]), line["context"]) if line["gold"] else ()
    nearest = min((match.span() for match in golds), key=lambda span: abs(span[0] - start), default=None)
    if nearest is not None:
        yield *nearest, "gold"
