"""Which shape the predictions of a split have."""

from collections.abc import Sequence

from finetune.report.view import Line, View
from finetune.report.view_choice import ChoiceView
from finetune.report.view_sentence import LabelsView, LabelView, NumberView
from finetune.report.view_span import SpanView
from finetune.report.view_tags import TagsView

VIEWS: tuple[type[View], ...] = (TagsView, ChoiceView, SpanView, LabelsView, NumberView, LabelView)


def view_of(lines: Sequence[Line], labels: Sequence[str] = ()) -> View | None:
    """The lines that have a gold, seen as their shape; None where there is none, or it is a shape of its own."""
    known = [line for line in lines if line["gold"] is not None and line["answer"] is not None]
    kind = next((kind for kind in VIEWS if known and all(map(kind.fits, known))), None)
    return None if kind is None else kind(lines=known, labels=labels)
