"""Findings on answers that are not in their context, or not where answer_start says."""

from collections import defaultdict
from collections.abc import Iterator

from finetune.data.issues import Finding, Issue
from finetune.data.values import as_text
from finetune.task_types.findings import MOST_OF_ROWS, ONE_LABEL, SplitRows
from finetune.task_types.span.cells import answers_of, located, start_column

ANSWER_LOST = Issue(
    "answer-lost",
    "warning",
    "answers that are not in their context, or neither where answer_start says nor near it",
    "Correct the answer or answer_start; these questions are not trained on",
    worst="error",
)
ANSWER_MOVED = Issue(
    "answer-moved",
    "note",
    "answers a few characters away from where answer_start says",
    "Correct answer_start; the text that is found nearby is used",
)
ANSWER_UNSURE = Issue(
    "answer-unsure",
    "note",
    "answers without answer_start that occur several times in their context",
    "Give answer_start; the first occurrence is used",
)
ISSUES = (ANSWER_LOST, ANSWER_MOVED, ANSWER_UNSURE)


def span_findings(rows: SplitRows) -> Iterator[Finding]:
    """Answers that are not in their context, not at answer_start, or that occur several times."""
    layout, columns = rows.layout, rows.table.columns
    if not layout.label or len(layout.text) < 2 or layout.label[0] not in columns:
        return
    if rows.trains and any(gold is not None for gold in rows.golds) and not any(rows.golds):
        yield Finding(ONE_LABEL, "no question has an answer", remedy="There is nothing to learn", worst=True)
    cells, contexts = columns[layout.label[0]], columns[layout.text[1]]
    starts = columns.get(start_column(layout.label[0]), [None] * len(cells))
    faults = defaultdict[Issue, list[int]](list)
    for row, gold in enumerate(rows.golds):
        if not gold:
            continue
        context, issues = as_text(contexts[row]), set[Issue]()
        for text, start in answers_of(cells[row], starts[row]):
            place = context.find(text) if start is None else located(context, text, start)
            if place is None or place < 0:
                issues.add(ANSWER_LOST)
            elif start is not None and place != start:
                issues.add(ANSWER_MOVED)
            elif start is None and context.count(text) > 1:
                issues.add(ANSWER_UNSURE)
        for issue in [issue for issue in ISSUES if issue in issues][:1]:  # the worst of its answers
            faults[issue].append(row)
    for issue in ISSUES:
        if indexes := faults[issue]:
            yield Finding(issue, indexes=indexes, worst=len(indexes) > MOST_OF_ROWS * rows.size)
