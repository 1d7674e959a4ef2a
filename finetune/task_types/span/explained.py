"""What is explained of an answer: its first token as start, and its last as end."""

from collections.abc import Sequence

import numpy as np

from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.task_types.explained import Asked, CannotExplain, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.span.row import SpanRow

NONE = "no answer"


def span_texts(row: SpanRow) -> list[list[NamedText]]:
    """The question and the context."""
    return [[NamedText(name="question", text=row.question.lstrip()), NamedText(name="context", text=row.context)]]


def span_targets(row: SpanRow, answer: SpanAnswer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
    """The predicted answer, or the text of the context that was asked for; an empty one means that there is none."""
    asked.require_no_word()
    start, end, confidence = answer.start, answer.end, answer.score or None
    if asked.label is not None and asked.label != answer.text:
        start, end, confidence = _located(row.context, asked.label), None, None
        end = None if start is None else start + len(asked.label)
    if start is None or end is None:
        picks = [
            Pick(feature=n, place=(0, side), against=0, weight=1 / len(features))
            for n in range(len(features))
            for side in (0, 1)
        ]
        target = Target(label=NONE, picks=picks, confidence=confidence)
    else:
        target = Target(label=row.context[start:end], picks=_picks(start, end, features), confidence=confidence)
    return ExplainTarget(prediction=answer.text or NONE, confidence=answer.score or None, targets=[target])


def _located(context: str, text: str) -> int | None:
    if text and text not in context:
        raise UserError(
            f"'{text}' is not in the context", "Set `label` to words of the context, or to '' for no answer"
        )
    return context.index(text) if text else None


def _picks(start: int, end: int, features: Sequence[Feature]) -> list[Pick]:
    """Start and end in the window that has both, and most context before the start. Raises CannotExplain for none."""
    found = []
    for number, feature in enumerate(features):
        starts, ends = feature.note["starts"], feature.note["ends"]
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(starts, end, side="left")) - 1
        if first <= last < len(starts) and starts[0] <= start and end <= ends[-1]:
            found.append((not feature.note["owned"][first], number, first, last))
    if not found:
        raise CannotExplain("no window of the context holds this answer", "Choose a shorter one with `label`")
    _, number, first, last = min(found)
    place = features[number].note["place"]
    return [Pick(feature=number, place=(place + token, side), against=0) for side, token in enumerate((first, last))]
