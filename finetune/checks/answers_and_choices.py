"""Checks of answers in contexts, and of choices."""

from collections import Counter
from collections.abc import Iterator

from finetune.checks.finding import MOSTLY, Finding, Severity
from finetune.checks.split_data import Part
from finetune.data.column_types import as_text
from finetune.task_types.choice.cells import choices_of
from finetune.task_types.span.answer_place import located
from finetune.task_types.span.cells import answers_of


def answers(part: Part) -> Iterator[Finding]:
    """Answers that are not in their context, stand elsewhere than said, or may stand in several places."""
    layout = part.layout
    if layout.shape != "span" or not layout.label or len(layout.text) < 2 or not part.has(layout.label):
        return
    cells = part.table.columns[layout.label[0]]
    contexts = part.table.columns[layout.text[1]]
    starts = part.table.columns.get("answer_start", [None] * len(cells))
    if part.trains and any(gold is not None for gold in part.golds) and not any(part.golds):
        yield part.found("error", "one-label", "no question has an answer", "There is nothing to learn")
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
        what = "answers that are not in their context, or not where answer_start says nor once nearby"
        remedy = "Mend the answer or answer_start; nothing is learned of them"
        severity: Severity = "error" if len(lost) > MOSTLY * part.size else "warning"
        yield part.found(severity, "answer-lost", what, remedy, lost)
    if moved:
        what = "answers a few characters away from where answer_start says"
        yield part.found("note", "answer-moved", what, "Mend answer_start; here they are found all the same", moved)
    if unsure:
        what = "answers without answer_start that their context has several times"
        yield part.found("note", "answer-unsure", what, "Give answer_start; the first place is taken", unsure)


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
        yield part.found("note", "choice-count", what, "Nothing need be done if that is meant", rows)
    if double := [row for row, some in given.items() if len(set(some)) < len(some)]:
        yield part.found("warning", "double-choice", "rows with one choice twice", "Make the choices differ", double)
