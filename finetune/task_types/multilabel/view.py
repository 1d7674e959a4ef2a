"""Sentences and pairs with any number of labels in a report."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from finetune.metrics.scores import label_set_scores
from finetune.task_types.text_inputs.view import RowTextView, probabilities_by_label
from finetune.task_types.view import Beliefs, Claim, ClassScore, Line, SetCandidate

NONE = "no such label"


class LabelsView(RowTextView):
    """Any number of labels per row; each label is a separate decision."""

    measure = "share of rows with exactly the right labels"
    decision = "labels of rows"
    claimed = "labels"
    several = True
    names_in_scores = True

    @staticmethod
    def shows(line: Line) -> bool:
        return "text" in line and isinstance(line["gold"], list)

    def scores(self) -> np.ndarray:
        """1 where exactly the right labels were predicted."""
        return np.array([set(line["gold"]) == set(line["prediction"]) for line in self.lines], float)

    def by_label(self, line: Line) -> dict[str, float]:
        return probabilities_by_label(self.labels, line)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Each label's confidence, and whether its decision is right."""
        found = self._matrices()
        return None if found is None else (found[0].ravel(), found[1].ravel())

    def claims(self, line: Line) -> list[Claim]:
        """The predicted labels."""
        chances = self.by_label(line)
        return [
            Claim(label=label, confidence=chances[label], right=label in (line["gold"] or ()), place=(place,))
            for place, label in enumerate(line["prediction"])
            if label in chances
        ]

    def without(self, line: Line, unsure: Sequence[Claim]) -> list[str]:
        """The other labels."""
        left_out = {claim.label for claim in unsure}
        return [label for label in line["prediction"] if label not in left_out]

    def candidates(self, line: Line) -> list[SetCandidate]:
        return [
            SetCandidate(name=label, chance=chance, right=label in (line["gold"] or ()))
            for label, chance in self.by_label(line).items()
        ]

    def certainty(self) -> np.ndarray:
        """The confidence of the most confident wrong label."""
        found = self._matrices()
        if found is None:
            return super().certainty()
        chances, gold, answered = found
        wrong: np.ndarray = np.where(gold == answered, -np.inf, np.where(answered, chances, 1 - chances))
        return wrong.max(axis=1)  # type: ignore[no-any-return]

    def beliefs(self) -> Beliefs | None:
        """Of each label of each row, that the row has it, or has not."""
        found = self._matrices()
        if found is None:
            return None
        chances, gold, _ = found
        return Beliefs(
            chances=np.where(gold, chances, 1 - chances).ravel(),
            rows=np.arange(len(gold)).repeat(len(self.labels)),
            classes=[f"{name} {has}" for row in gold for name, has in zip(self.labels, row, strict=True)],
            places=np.tile(np.arange(len(self.labels)), len(gold)),
        )

    def doubt(self, line: Line, place: int) -> dict[str, str]:
        name = self.labels[place]
        has, given = (name if name in line[side] else f"not {name}" for side in ("gold", "prediction"))
        return {"doubted": has, "predicted_there": given}

    def classes(self) -> list[ClassScore]:
        gold, answers = [line["gold"] for line in self.lines], [line["prediction"] for line in self.lines]
        there, given = Counter(chain(*gold)), Counter(chain(*answers))
        right = Counter(label for a, b in zip(gold, answers, strict=True) for label in set(a) & set(b))
        names = list(self.labels) or sorted({*there, *given})
        return [
            ClassScore(
                name=name, precision=p, recall=r, f1=f, gold=there[name], answered=given[name], right=right[name]
            )
            for name, (p, r, f) in label_set_scores(gold, answers, names).items()
        ]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """Each label that the row has or was given; NONE takes the place of one that is missing."""
        gold, answer = set(line["gold"]), set(line["prediction"])
        return [(label if label in gold else NONE, label if label in answer else NONE) for label in gold | answer]

    def pairs(self) -> list[tuple[str, str]]:
        """None: labels do not exclude each other."""
        return []

    def confidence(self, line: Line) -> dict[str, float] | None:
        """The probability of each label."""
        return self.by_label(line) or None

    def says(self, value: object) -> str:
        return ", ".join(value) or "none"  # type: ignore[arg-type]

    def _matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Probabilities, labels and predictions `(rows, labels)`; None where there are no named probabilities."""
        if not self.lines or len(self.lines[0].get("probabilities") or ()) != len(self.labels) or not self.labels:
            return None
        chances = np.array([line["probabilities"] for line in self.lines], float)
        gold, answered = (
            np.array([[label in line[name] for label in self.labels] for line in self.lines])
            for name in ("gold", "prediction")
        )
        return chances, gold, answered
