"""The cards that show rows of a split with their texts: mistakes, golds to look at, examples."""

import numpy as np

from finetune.analysis.report.blocks import Card, Shown
from finetune.analysis.report.mistakes import SURE, bar, surest_mistakes, suspects
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Line, View

MOST_SHOWN = 20
EXAMPLES = 6
NAME = 40  # characters of a row's id


def mistakes_card(view: View) -> Card:
    """The wrong answers that the model is surest of."""
    some, wrong = surest_mistakes(view, MOST_SHOWN)
    count = len(view.lines)
    if not view.bounded:
        title, note = "Largest errors", shown_of(len(some), count, "rows, the furthest off first")
    else:
        title, note = "Most confident errors", f"{wrong:,} of {count:,} rows have a mistake. "
        note += shown_of(len(some), wrong, "of them, the surest first")
    return Card(title=title, note=note, shown=[shown_row(view, line, sure) for line, sure in some], wide=True)


def suspects_card(view: View) -> Card:
    """Golds to look at."""
    some, count = suspects(view, MOST_SHOWN)
    limit = bar(view)
    if not np.isfinite(limit):
        rule = "There are no probabilities, so none is suggested."
    elif view.bounded:
        rule = (
            f"The model contradicts the gold and is at least {100 * limit:.1f} % sure: as sure as it is in the mean "
            f"where it is right, and at least {100 * SURE:.0f} %."
        )
    else:
        rule = f"The answer is off by over {limit:.2f}, three times the root of the mean squared error."
    note = (
        f"Only a suggestion: the model may be wrong, look at the text. {rule} {shown_of(len(some), count, 'such rows')}"
    )
    return Card(
        title="Gold that may be a mistake",
        note=note,
        shown=[shown_row(view, line, sure) for line, sure in some],
        wide=True,
    )


def examples_card(view: View) -> Card:
    """The first rows as they come."""
    scores, sure = view.scores(), view.certainty()
    shown = [shown_row(view, line, sure[i], right=scores[i] == 1) for i, line in enumerate(view.lines[:EXAMPLES])]
    return Card(title="Examples", note=shown_of(len(shown), len(view.lines), "rows, the first"), shown=shown, wide=True)


def shown_row(view: View, line: Line, certainty: float, *, right: bool = False) -> Shown:
    """A row for the page."""
    facts = []
    if not view.bounded:
        facts.append(f"off by {certainty:.3f}")
    elif 0 < certainty < np.inf:
        facts.append(f"{100 * certainty:.1f} % sure")
    if not right and view.bounded and (agreeing := view.agreeing(line)):
        facts.append(f"{' and '.join(agreeing)} says so too")
    gold, answer = view.verdict(line)
    return Shown(
        id=cut(str(line["id"]), NAME),
        parts=view.parts(line),
        gold=cut(gold),
        answer=cut(answer),
        facts=facts,
        right=right if view.bounded else None,
    )


def shown_of(shown: int, count: int, what: str) -> str:
    """`Shown are 20 of 1,234 rows`; nothing where all are shown."""
    return "" if shown == count else f"Shown are {shown:,} of {count:,} {what}."
