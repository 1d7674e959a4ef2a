"""Checks of entities that are spans of characters: which of them were changed, or left out, to make tags of words."""

from collections.abc import Iterator

from finetune.checks.check import Check, in_each
from finetune.checks.finding import Finding
from finetune.checks.split_data import Part
from finetune.data.issues import Issue
from finetune.task_types.tagging.char_spans import LEFT_OUT, changed_spans

SPAN = Issue(
    code="span",
    severity="note",
    worst="warning",
    meaning="spans of characters that were trimmed, widened or left out",
    remedy="Fix start and end where that is not what is meant; an end is the place behind the last character",
)


def spans(part: Part) -> Iterator[Finding]:
    """Spans that were trimmed, widened or left out."""
    if not part.layout.spans or not part.has(part.layout.label):
        return
    texts, cells = (part.table.columns[names[0]] for names in (part.layout.text, part.layout.label))
    for what, rows in changed_spans(texts, cells, part.layout.spans).items():
        yield part.found(SPAN, rows, what=f"spans {what}", worst=what in LEFT_OUT)


CHECKS = (Check(find=in_each(spans), issues=(SPAN,)),)
