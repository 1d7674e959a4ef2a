"""Checks of entities that are spans of characters: which of them were changed, or left out, to make tags of words."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from finetune.checks.finding import Finding, Severity
from finetune.checks.split_data import Part
from finetune.data.column_types import as_list, as_text, is_missing
from finetune.data.reading import Table
from finetune.task_types.columns import Layout
from finetune.task_types.tagging.char_spans import spans_of, tags_for
from finetune.task_types.tagging.segments import segmented

WIDENED = "that begin or end within a word: widened to the word"


def spans(part: Part) -> Iterator[Finding]:
    """Spans that were trimmed, widened or left out."""
    if not part.layout.spans or not part.has(part.layout.label):
        return
    for what, rows in changed_spans(part.layout, part.table).items():
        severity: Severity = "warning" if "left out" in what else "note"
        remedy = "Fix start and end where that is not what is meant; an end is the place behind the last character"
        yield part.found(severity, "span", f"spans {what}", remedy, rows)


def changed_spans(layout: Layout, table: Table) -> dict[str, Sequence[int]]:
    """What was done to spans, each with the indexes of its rows."""
    changes: defaultdict[str, list[int]] = defaultdict(list)
    for index, (text, cell) in enumerate(
        zip(table.columns[layout.text[0]], table.columns[layout.label[0]], strict=True)
    ):
        if is_missing(text) or not as_list(cell):
            continue
        found = spans_of(cell, layout.spans, as_text(text))
        words, starts = segmented(as_text(text))
        widened = tags_for(words, starts, found.spans)[1]
        for what in (*found.changes, *([WIDENED] if widened else [])):
            changes[what].append(index)
    return dict(changes)
