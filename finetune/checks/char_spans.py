"""Checks of entities that are spans of characters: which of them were changed, or left out, to make tags of words."""

from collections.abc import Iterator

from finetune.checks.finding import Finding, Severity
from finetune.checks.split_data import Part
from finetune.task_types.tagging.char_spans import changed_spans


def spans(part: Part) -> Iterator[Finding]:
    """Spans that were trimmed, widened or left out."""
    if not part.layout.spans or not part.has(part.layout.label):
        return
    texts, cells = (part.table.columns[names[0]] for names in (part.layout.text, part.layout.label))
    for what, rows in changed_spans(texts, cells, part.layout.spans).items():
        severity: Severity = "warning" if "left out" in what else "note"
        remedy = "Fix start and end where that is not what is meant; an end is the place behind the last character"
        yield part.found(severity, "span", f"spans {what}", remedy, rows)
