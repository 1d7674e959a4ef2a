"""Findings on answers that are not in their context, or not where answer_start says."""

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
ISSUES = (ANSWER_LOST, ANSWER_MOVED)


def span_findings(rows: SplitRows) -> Iterator[Finding]:
    """Answers that are not in their context, or not at answer_start."""
    layout, columns = rows.layout, rows.table.columns
    if not layout.label or len(layout.text) < 2 or layout.label[0] not in columns:
        return
    if rows.trains and any(gold is not None for gold in rows.golds) and not any(rows.golds):
        yield Finding(ONE_LABEL, "no question has an answer", remedy="There is nothing to learn", worst=True)
    cells, contexts = columns[layout.label[0]], columns[layout.text[1]]
    starts = columns.get(start_column(layout.label[0]), [None] * len(cells))
    lost, moved = list[int](), list[int]()
    for row, gold in enumerate(rows.golds):
        if not gold:
            continue
        context, answers = as_text(contexts[row]), answers_of(cells[row], starts[row])
        places = [context.find(text) if start is None else located(context, text, start) for text, start in answers]
        if None in places or -1 in places:
            lost.append(row)
        elif any(start not in (None, place) for (_, start), place in zip(answers, places, strict=True)):
            moved.append(row)
    for issue, indexes in ((ANSWER_LOST, lost), (ANSWER_MOVED, moved)):
        if indexes:
            yield Finding(issue, indexes=indexes, worst=len(indexes) > MOST_OF_ROWS * rows.size)
