"""Which shape the predictions of a split have."""

from collections.abc import Sequence

from finetune.task_types.choice.view import ChoiceView
from finetune.task_types.sentence.view import LabelsView, LabelView, NumberView
from finetune.task_types.span.view import SpanView
from finetune.task_types.tagging.view import TagsView
from finetune.task_types.view import Line, View

VIEWS: tuple[type[View], ...] = (TagsView, ChoiceView, SpanView, LabelsView, NumberView, LabelView)


def view_of(lines: Sequence[Line], labels: Sequence[str] = ()) -> View | None:
    """The lines that have a gold, seen as their shape; None where there is none, or it is a shape of its own."""
    known = [line for line in lines if line["gold"] is not None and line["answer"] is not None]
    kind = next((kind for kind in VIEWS if known and all(map(kind.fits, known))), None)
    return None if kind is None else kind(lines=known, labels=labels)
