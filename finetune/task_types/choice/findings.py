"""Findings on choices: numbers of choices that vary, and duplicate choices."""

from collections import Counter
from collections.abc import Iterator

from finetune.data.issues import Finding, Issue
from finetune.task_types.choice_labels import choices_of
from finetune.task_types.findings import SplitRows, of_single_labels

CHOICE_COUNT = Issue(
    code="choice-count",
    severity="note",
    meaning="rows with another number of choices than most have",
    remedy="Nothing to do if that is intended",
)
DOUBLE_CHOICE = Issue(
    code="double-choice",
    severity="warning",
    meaning="rows with a duplicate choice",
    remedy="Make the choices differ",
)
ISSUES = (CHOICE_COUNT, DOUBLE_CHOICE)


def choice_findings(rows: SplitRows) -> Iterator[Finding]:
    """The most frequent position of the right choice, numbers of choices that vary, and duplicate choices."""
    yield from of_single_labels(rows, worst=False)
    columns = [rows.table.columns[name] for name in rows.layout.text[rows.layout.contexts :]]
    given = {row: choices_of([cells[row] for cells in columns]) for row, text in enumerate(rows.texts) if text}
    counts = Counter(map(len, given.values()))
    if len(counts) > 1:
        usual = counts.most_common(1)[0][0]
        what = f"rows with another number of choices than {usual}, which most have"
        others = [row for row, some in given.items() if len(some) != usual]
        yield Finding(issue=CHOICE_COUNT, indexes=others, what=what)
    if double := [row for row, some in given.items() if len(set(some)) < len(some)]:
        yield Finding(issue=DOUBLE_CHOICE, indexes=double)
