"""Findings on answers that are not in their context, or not where answer_start says."""

from collections.abc import Iterator

from finetune.data.issues import Finding, Issue
from finetune.data.values import as_text
from finetune.task_types.findings import MOST_OF_ROWS, ONE_LABEL, SplitRows
from finetune.task_types.span.answer_place import located
from finetune.task_types.span.cells import answers_of, start_column

ANSWER_LOST = Issue(
    code="answer-lost",
    severity="warning",
    worst="error",
    meaning="answers that are not in their context, or neither where answer_start says nor near it",
    remedy="Correct the answer or answer_start; these questions are not trained on",
)
ANSWER_MOVED = Issue(
    code="answer-moved",
    severity="note",
    meaning="answers a few characters away from where answer_start says",
    remedy="Correct answer_start; the text that is found nearby is used",
)
ANSWER_UNSURE = Issue(
    code="answer-unsure",
    severity="note",
    meaning="answers without answer_start that occur several times in their context",
    remedy="Give answer_start; the first occurrence is used",
)
ISSUES = (ANSWER_LOST, ANSWER_MOVED, ANSWER_UNSURE)


def span_findings(rows: SplitRows) -> Iterator[Finding]:
    """Answers that are not in their context, not at answer_start, or that occur several times."""
    layout, columns = rows.layout, rows.table.columns
    if not layout.label or len(layout.text) < 2 or layout.label[0] not in columns:
        return
    cells, contexts = columns[layout.label[0]], columns[layout.text[1]]
    starts = columns.get(start_column(layout.label[0]), [None] * len(cells))
    if rows.trains and any(gold is not None for gold in rows.golds) and not any(rows.golds):
        yield Finding(issue=ONE_LABEL, what="no question has an answer", remedy="There is nothing to learn", worst=True)
    lost, moved, unsure = [], [], []
    for row, gold in enumerate(rows.golds):
        context = as_text(contexts[row]) if gold else ""
        pairs = answers_of(cells[row], starts[row]) if gold else []
        places = [context.find(text) if start is None else located(context, text, start) for text, start in pairs]
        if any(place is None or place < 0 for place in places):
            lost.append(row)
        elif any(start not in (None, place) for (_, start), place in zip(pairs, places, strict=True)):
            moved.append(row)
        elif any(start is None and context.count(text) > 1 for text, start in pairs):
            unsure.append(row)
    if lost:
        yield Finding(issue=ANSWER_LOST, indexes=lost, worst=len(lost) > MOST_OF_ROWS * rows.size)
    if moved:
        yield Finding(issue=ANSWER_MOVED, indexes=moved)
    if unsure:
        yield Finding(issue=ANSWER_UNSURE, indexes=unsure)
