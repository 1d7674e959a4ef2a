"""Checks of answers in contexts, and of choices."""

from collections import Counter
from collections.abc import Iterator

from finetune.checks.check import Check, in_each
from finetune.checks.finding import MOSTLY, Finding
from finetune.checks.labels import ONE_LABEL
from finetune.checks.split_data import Part
from finetune.data.column_types import as_text
from finetune.data.issues import Issue
from finetune.task_types.choice.cells import choices_of
from finetune.task_types.span.answer_place import located
from finetune.task_types.span.cells import answers_of

ANSWER_LOST = Issue(
    code="answer-lost",
    severity="warning",
    worst="error",
    meaning="answers that are not in their context, or neither where answer_start says nor near it",
    remedy="Correct the answer or answer_start; nothing is learned of them",
)
ANSWER_MOVED = Issue(
    code="answer-moved",
    severity="note",
    meaning="answers a few characters away from where answer_start says",
    remedy="Correct answer_start; here they are found all the same",
)
ANSWER_UNSURE = Issue(
    code="answer-unsure",
    severity="note",
    meaning="answers without answer_start that their context has several times",
    remedy="Give answer_start; the first place is taken",
)
CHOICE_COUNT = Issue(
    code="choice-count",
    severity="note",
    meaning="rows with another number of choices than most have",
    remedy="Nothing need be done if that is meant",
)
DOUBLE_CHOICE = Issue(
    code="double-choice",
    severity="warning",
    meaning="rows with one choice twice",
    remedy="Make the choices differ",
)


def answers(part: Part) -> Iterator[Finding]:
    """Answers that are not in their context, stand elsewhere than said, or may stand in several places."""
    layout = part.layout
    if layout.shape != "span" or not layout.label or len(layout.text) < 2 or not part.has(layout.label):
        return
    cells = part.table.columns[layout.label[0]]
    contexts = part.table.columns[layout.text[1]]
    starts = part.table.columns.get("answer_start", [None] * len(cells))
    if part.trains and any(gold is not None for gold in part.golds) and not any(part.golds):
        yield part.found(ONE_LABEL, what="no question has an answer", remedy="There is nothing to learn", worst=True)
    lost, moved, unsure = [], [], []
    for row, gold in enumerate(part.golds):
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
        yield part.found(ANSWER_LOST, lost, worst=len(lost) > MOSTLY * part.size)
    if moved:
        yield part.found(ANSWER_MOVED, moved)
    if unsure:
        yield part.found(ANSWER_UNSURE, unsure)


def choices(part: Part) -> Iterator[Finding]:
    """Numbers of choices that vary, and choices that a row has twice."""
    if part.layout.shape != "choice":
        return
    columns = [part.table.columns[name] for name in part.layout.text[part.layout.contexts :]]
    given = {row: choices_of([cells[row] for cells in columns]) for row, text in enumerate(part.texts) if text}
    counts = Counter(map(len, given.values()))
    if len(counts) > 1:
        usual = counts.most_common(1)[0][0]
        what = f"rows with another number of choices than {usual}, which most have"
        rows = [row for row, some in given.items() if len(some) != usual]
        yield part.found(CHOICE_COUNT, rows, what=what)
    if double := [row for row, some in given.items() if len(set(some)) < len(some)]:
        yield part.found(DOUBLE_CHOICE, double)


CHECKS = (
    Check(find=in_each(answers), issues=(ONE_LABEL, ANSWER_LOST, ANSWER_MOVED, ANSWER_UNSURE), refuses=True),
    Check(find=in_each(choices), issues=(CHOICE_COUNT, DOUBLE_CHOICE)),
)
