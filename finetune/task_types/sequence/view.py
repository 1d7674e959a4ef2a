"""Written texts in a report."""

import numpy as np

from finetune.metrics.texts import same_words, sentence_chrf
from finetune.task_types.marked_text import TextPart, unmarked
from finetune.task_types.view import Line, View


class SequenceView(View):
    """A text that is written from a source; its score is its chrF with the target."""

    measure = "chrF"
    sorted_by = "distance from the target"
    decision = "texts"
    claimed = "texts"
    square = False

    @staticmethod
    def shows(line: Line) -> bool:
        return "source" in line and "target" in line

    def scores(self) -> np.ndarray:
        """chrF of each text by itself."""
        labels, texts = ([str(line[name]) for line in self.lines] for name in ("gold", "prediction"))
        return sentence_chrf(labels, texts)

    def wrong(self) -> np.ndarray:
        """Another text, but for white space."""
        return np.array([not same_words(line["gold"], line["prediction"]) for line in self.lines])

    def certainty(self) -> np.ndarray:
        """How far each text is from its target: 1 where nothing is shared, minus infinity where it is the target."""
        return np.where(self.wrong(), 1 - self.scores(), -np.inf)

    def lengths(self) -> np.ndarray:
        """Characters of the source."""
        return np.array([len(line["source"]) for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        return [unmarked("source", line["source"])]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """(whether there is a target, whether it was written)."""
        right = same_words(line["gold"], line["prediction"])
        return [("a target", "the same text" if right else "another text")]

    def fields(self, line: Line) -> dict[str, object]:
        """The source alone: the target is the label."""
        return {name: value for name, value in super().fields(line).items() if name != "target"}
