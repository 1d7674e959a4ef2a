"""Spans that may overlap in a report: marked in their text, each candidate one decision."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from finetune.metrics.scores import precision_recall_f1
from finetune.task_types.marked_text import Segment, TextPart, clean, unmarked, without_middle
from finetune.task_types.tagging.overlapping.row import LabelledSpan, triples
from finetune.task_types.view import Beliefs, Claim, ClassScore, Line, View

NONE = "no span"
NOT_SHOWN = ("candidates", "label_probabilities", "out_of_reach")  # of a line, in a table


class OverlapView(View):
    """Spans of a text, of which several may have a character in common."""

    measure = "F1 of the row's spans"
    decision = "candidate spans"
    claimed = "entities"
    several = True

    @staticmethod
    def shows(line: Line) -> bool:
        return (
            "text" in line
            and all(isinstance(line[side], list) for side in ("gold", "prediction"))
            and all(
                isinstance(span, Mapping) and {"start", "end", "label"} <= span.keys()
                for side in ("gold", "prediction")
                for span in line[side]
            )
        )

    def scores(self) -> np.ndarray:
        """The F1 of each row's spans, 1 where there are none and none was predicted."""
        return np.array([_f1(_spans(line, "gold"), _spans(line, "prediction")) for line in self.lines])

    def lengths(self) -> np.ndarray:
        """Characters."""
        return np.array([len(line["text"]) for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        """The text twice: with the row's own spans, and with the predicted ones."""
        gold, answer = _spans(line, "gold"), _spans(line, "prediction")
        return [
            with_marks("label", line["text"], gold, answer, otherwise="missed"),
            with_marks("prediction", line["text"], answer, gold, otherwise="wrong"),
        ]

    def fields(self, line: Line) -> dict[str, object]:
        """The row's text without what decided the prediction."""
        return {name: value for name, value in super().fields(line).items() if name not in NOT_SHOWN}

    def listed(self, line: Line, name: str) -> str:
        """The spans with their labels."""
        return self.says_in(line["text"], _spans(line, name))

    @staticmethod
    def says_in(text: str, spans: Sequence[LabelledSpan]) -> str:
        """The texts of spans, each with its label."""
        return ", ".join(f"{text[start:end]} ({kind})" for start, end, kind in spans) or NONE

    def confidence(self, line: Line) -> float | None:
        """The lowest of its spans."""
        return min(line.get("probabilities") or (), default=None)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Each candidate's confidence, to be a span or not, and whether its decision is right."""
        found = [one for line in self.lines for one in _decided(line)]
        if not found:
            return None
        confidence, right = zip(*((sure, is_right) for _, sure, is_right in found), strict=True)
        return np.array(confidence), np.array(right)

    def claims(self, line: Line) -> list[Claim]:
        """The predicted spans."""
        gold = set(_spans(line, "gold")) if line["gold"] is not None else set()
        given = zip(_spans(line, "prediction"), line.get("probabilities") or (), strict=False)
        return [
            Claim(label=span[2], confidence=chance, right=span in gold, place=(place,))
            for place, (span, chance) in enumerate(given)
        ]

    def without(self, line: Line, unsure: Sequence[Claim]) -> list[dict[str, Any]]:
        """The other spans."""
        left_out = {claim.place[0] for claim in unsure}
        return [span for place, span in enumerate(line["prediction"]) if place not in left_out]

    def certainty(self) -> np.ndarray:
        """The confidence of the most confident wrong decision."""
        return np.array([_surest(line)[1] for line in self.lines])

    def beliefs(self) -> Beliefs | None:
        """Of each span of each row that it is one; None where the probabilities are unknown."""
        if not self.lines or any(line.get("label_probabilities") is None for line in self.lines):
            return None
        golds = [_spans(line, "gold") for line in self.lines]
        if not any(golds):
            return None
        return Beliefs(
            chances=np.array([chance for line in self.lines for chance in line["label_probabilities"]], float),
            rows=np.repeat(np.arange(len(golds)), [len(gold) for gold in golds]),
            classes=[kind for gold in golds for _, _, kind in gold],
            places=np.array([place for gold in golds for place in range(len(gold))]),
        )

    def doubt(self, line: Line, place: int) -> dict[str, object]:
        start, end, kind = _spans(line, "gold")[place]
        there = [span for span in _spans(line, "prediction") if span[0] < end and start < span[1]]
        return {"doubted": f"{line['text'][start:end]} ({kind})", "predicted_there": self.says_in(line["text"], there)}

    def classes(self) -> list[ClassScore]:
        """The scores of each label."""
        there, given, right = Counter[str](), Counter[str](), Counter[str]()
        for line in self.lines:
            gold, answer = set(_spans(line, "gold")), set(_spans(line, "prediction"))
            for counter, some in ((there, gold), (given, answer), (right, gold & answer)):
                counter.update(kind for _, _, kind in some)
        return [
            ClassScore(
                name=name, precision=p, recall=r, f1=f, gold=there[name], answered=given[name], right=right[name]
            )
            for name in sorted({*there, *given})
            for p, r, f in [precision_recall_f1(right[name], given[name], there[name])]
        ]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """(label, predicted label) of each place that is a span or was predicted; NONE takes that of a missing one."""
        gold, answer = _spans(line, "gold"), _spans(line, "prediction")
        found = []
        for place in dict.fromkeys(span[:2] for span in (*gold, *answer)):
            own, given = ([span[2] for span in side if span[:2] == place] for side in (gold, answer))
            found += [(kind, kind) for kind in own if kind in given]
            missed, wrong = ([a for a in own if a not in given], [b for b in given if b not in own])
            found += list(zip_longest(missed, wrong, fillvalue=NONE))
        return found

    def verdict(self, line: Line) -> tuple[str, str]:
        """Label and prediction of the wrong decision that it is most confident of; empty where nothing is wrong."""
        span, sure = _surest(line)
        if sure == -np.inf:
            return "", ""
        says = self.says_in(line["text"], [span])
        return (says, NONE) if span in _spans(line, "gold") else (NONE, says)


def with_marks(
    name: str, text: str, spans: Sequence[LabelledSpan], others: Sequence[LabelledSpan], *, otherwise: str
) -> TextPart:
    """A text with marked spans: `right` if they are among `others`, else `otherwise`.

    It is cut where a span begins or ends; the labels of spans follow their last part.
    """
    if not spans:
        return unmarked(name, text)
    agreed = set(others)
    edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
    segments = []
    for start, end in pairwise(edges):
        over = [span for span in spans if span[0] <= start and end <= span[1]]
        mark = "" if not over else "right" if agreed.issuperset(over) else otherwise
        ending = ", ".join(span[2] for span in reversed(over) if span[1] == end)
        shown = clean(text[start:end]) if over else without_middle(text[start:end])
        segments.append(Segment(text=shown, mark=mark, label=ending))
    return TextPart(name=name, segments=segments)


def _spans(line: Line, name: str) -> list[LabelledSpan]:
    return triples(line[name])


def _f1(gold: Sequence[LabelledSpan], answer: Sequence[LabelledSpan]) -> float:
    together = len(gold) + len(answer)
    return 2 * len(set(gold) & set(answer)) / together if together else 1.0


def _decided(line: Line) -> Iterator[tuple[LabelledSpan, float, bool]]:
    """Each candidate, and each own span that is none, with its confidence and whether the decision is right."""
    gold, answer = set(_spans(line, "gold")), set(_spans(line, "prediction"))
    seen = set()
    candidates = line.get("candidates") or ()
    for span, chance in zip(triples(candidates), (one["probability"] for one in candidates), strict=True):
        seen.add(span)
        yield span, chance if span in answer else 1 - chance, (span in gold) == (span in answer)
    for span, chance in zip(_spans(line, "gold"), line.get("label_probabilities") or (), strict=False):
        if span not in seen:
            yield span, 1 - chance, False


def _surest(line: Line) -> tuple[LabelledSpan, float]:
    """The span of the most confident wrong decision, and its confidence; minus infinity where none is wrong."""
    wrong = [(span, sure) for span, sure, right in _decided(line) if not right]
    return max(wrong, key=lambda one: one[1], default=((0, 0, ""), -np.inf))
