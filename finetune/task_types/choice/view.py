"""Multiple choice in a report: the choices with their probabilities, the right one and the model's marked."""

import numpy as np

from finetune.task_types.marked_text import Segment, TextPart, cut, unmarked
from finetune.task_types.view import Claim, Line, SetCandidate, View, most_probable

CHOICES_SHOWN = 10


class ChoiceView(View):
    """Multiple choice: one of several choices per row."""

    softmax = True

    @staticmethod
    def shows(line: Line) -> bool:
        return isinstance(line.get("choices"), list) and isinstance(line["gold"], int)

    def scores(self) -> np.ndarray:
        """1 where the right choice was predicted."""
        return np.array([line["gold"] == line["prediction"] for line in self.lines], float)

    def lengths(self) -> np.ndarray:
        """Characters of the context and of the longest choice."""
        return np.array([len(line["context"]) + max(map(len, line["choices"])) for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        """The context and its choices."""
        chances = line.get("probabilities") or [None] * len(line["choices"])
        every = list(enumerate(zip(line["choices"], chances, strict=True)))
        shown = [
            TextPart(
                name=f"choice {number + 1}",
                segments=[
                    Segment(
                        text=cut(text),
                        mark=_mark(number, line),
                        label="" if chance is None else f"{100 * chance:.1f} %",
                    )
                ],
            )
            for number, (text, chance) in every
            if number < CHOICES_SHOWN or _mark(number, line)
        ]
        return [unmarked("context", line["context"]), *shown]

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The probability of the predicted choice."""
        return most_probable(self)

    def claims(self, line: Line) -> list[Claim]:
        """The choice, which has no label that rows share."""
        if not line.get("probabilities"):
            return []
        return [Claim(label="", confidence=max(line["probabilities"]), right=line["gold"] == line["prediction"])]

    def candidates(self, line: Line) -> list[SetCandidate]:
        """The choices by their index."""
        every = enumerate(line.get("probabilities") or ())
        return [SetCandidate(name=place, chance=chance, right=place == line["gold"]) for place, chance in every]

    def chances(self) -> tuple[list[list[float]], list[int]] | None:
        if self.decisions() is None:
            return None
        return [line["probabilities"] for line in self.lines], [line["gold"] for line in self.lines]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """The positions of choices, which show whether a model prefers one."""
        return [(self.says(line["gold"]), self.says(line["prediction"]))]

    def says(self, value: object) -> str:
        return f"choice {int(value) + 1}"  # type: ignore[call-overload]


def _mark(number: int, line: Line) -> str:
    gold, answer = number == line["gold"], number == line["prediction"]
    return "right" if gold and answer else "gold" if gold else "prediction" if answer else ""
