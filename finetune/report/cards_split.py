"""The cards that the predictions of a split give: classes, confusion, calibration, lengths, mistakes, examples."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from finetune.report.calibration import expected_error, reliability
from finetune.report.card import Card, Matrix, Shown, Table
from finetune.report.charts import class_chart, length_chart, reliability_chart, scatter_chart
from finetune.report.lengths import length_bins
from finetune.report.markup import cut
from finetune.report.mistakes import SURE, bar, suspects, surest_mistakes
from finetune.report.view import Line, View
from finetune.report.view_sentence import NumberView
from finetune.temperature import fit_temperature, with_temperature

MOST_CLASSES = 25  # of a chart and of a matrix
MOST_LINES = 60  # of a table
MOST_SHOWN = 20  # rows with their texts
EXAMPLES = 6
OTHERS = "(others)"
NAME = 40


def split_cards(view: View) -> Iterator[Card]:
    """All that a shape has."""
    yield from class_cards(view)
    if pairs := view.pairs():
        yield matrix_card(pairs, square=view.square)
    if isinstance(view, NumberView):
        yield Card(title="Answers over golds", chart=scatter_chart(view.values("gold"), view.values("answer")))
    yield from calibration_cards(view)
    if bins := length_bins(view.lengths(), view.scores()):
        chart = length_chart(bins, measure=view.measure, length=view.length_in, bounded=view.bounded)
        note = f"{view.measure}, in bins of about as many rows each, with 95 % intervals."
        yield Card(title="Length and score", note=note[0].upper() + note[1:], chart=chart)
    yield mistakes_card(view)
    yield suspects_card(view)
    yield examples_card(view)


def class_cards(view: View) -> Iterator[Card]:
    """Each label or type, the most frequent ones where there are many."""
    every = view.classes()
    if not every:
        return
    kept = {id(one) for one in sorted(every, key=lambda one: -(one.gold + one.answered))[:MOST_LINES]}
    shown = [one for one in every if id(one) in kept]
    rows = [
        [
            cut(one.name, NAME),
            *(f"{100 * value:.1f}" for value in (one.precision, one.recall, one.f1)),
            *(f"{value:,}" for value in (one.gold, one.answered, one.right)),
        ]
        for one in shown
    ]
    columns = ["class", "precision", "recall", "f1", "gold", "model", "both"]
    yield Card(
        title="By class",
        note=_of(len(shown), len(every), "classes, the most frequent"),
        chart=class_chart(shown) if len(shown) <= MOST_CLASSES else None,
        table=Table(columns=columns, rows=rows),
    )


def matrix_card(pairs: Sequence[tuple[str, str]], *, square: bool) -> Card:
    """Counts of gold and answer; of many classes the most frequent, the others together."""
    counted = Counter(pairs)
    seen = Counter[str]()
    for (gold, answer), count in counted.items():
        seen.update({gold: count})
        seen.update({answer: count})
    kept = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    merged = Counter[tuple[str, str]]()
    for (gold, answer), count in counted.items():
        merged[gold if gold in kept else OTHERS, answer if answer in kept else OTHERS] += count
    down, across = (_ordered({pair[side] for pair in merged}) for side in (0, 1))
    if square:
        down = across = _ordered({*down, *across})
    counts = [[merged[gold, answer] for answer in across] for gold in down]
    shares = [[count / max(1, sum(row)) for count in row] for row in counts]
    return Card(
        title="Confusion",
        note=f"Down: gold, across: the model's answer. A cell has its count and its share of the gold's row. "
        f"{_of(len(kept), len(seen), 'classes, the most frequent')}",
        matrix=Matrix(
            down=[cut(name, NAME) for name in down],
            across=[cut(name, NAME) for name in across],
            counts=counts,
            shares=shares,
        ),
    )


def calibration_cards(view: View) -> Iterator[Card]:
    """Reliability, ECE, and for a softmax the temperature that these rows would give."""
    found = view.decisions()
    if found is None or not len(found[0]):
        return
    bins = reliability(*found)
    facts = [f"Expected calibration error (ECE) {100 * expected_error(bins):.1f} points over {len(found[0]):,} {view.decision}."]
    after = []
    chances = view.chances()
    if chances is not None:
        temperature = fit_temperature(*chances)
        cooled = np.array([max(with_temperature(row, temperature)) for row in chances[0]])
        after = reliability(cooled, found[1])
        facts.append(
            f"With the temperature {temperature:.2f}, which is fitted on these very rows, {100 * expected_error(after):.1f}; "
            "finetune predict RUN FILE temperature=dev applies that of dev."
        )
    yield Card(title="Calibration", note=" ".join(facts), chart=reliability_chart(bins, after))


def mistakes_card(view: View) -> Card:
    """The wrong answers that the model is surest of."""
    some, wrong = surest_mistakes(view, MOST_SHOWN)
    count = len(view.lines)
    if not view.bounded:
        title, note = "Largest errors", _of(len(some), count, "rows, the furthest off first")
    else:
        title, note = "Most confident errors", f"{wrong:,} of {count:,} rows have a mistake. "
        note += _of(len(some), wrong, "of them, the surest first")
    return Card(title=title, note=note, shown=[shown_row(view, line, sure) for line, sure in some], wide=True)


def suspects_card(view: View) -> Card:
    """Golds to look at."""
    some, count = suspects(view, MOST_SHOWN)
    limit = bar(view)
    if not np.isfinite(limit):
        rule = "There are no probabilities, so none is suggested."
    elif view.bounded:
        rule = f"The model contradicts the gold and is at least {100 * limit:.1f} % sure: as sure as it is in the mean where it is right, and at least {100 * SURE:.0f} %."
    else:
        rule = f"The answer is off by over {limit:.2f}, three times the root of the mean squared error."
    note = f"Only a suggestion: the model may be wrong, look at the text. {rule} {_of(len(some), count, 'such rows')}"
    return Card(
        title="Gold that may be a mistake", note=note, shown=[shown_row(view, line, sure) for line, sure in some], wide=True
    )


def examples_card(view: View) -> Card:
    """The first rows as they come."""
    scores, sure = view.scores(), view.certainty()
    shown = [shown_row(view, line, sure[i], right=scores[i] == 1) for i, line in enumerate(view.lines[:EXAMPLES])]
    return Card(title="Examples", note=_of(len(shown), len(view.lines), "rows, the first"), shown=shown, wide=True)


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
        right=right,
    )


def _of(shown: int, count: int, what: str) -> str:
    """`Shown are 20 of 1,234 rows`; nothing where all are shown."""
    return "" if shown == count else f"Shown are {shown:,} of {count:,} {what}."


def _ordered(names: set[str]) -> list[str]:
    """By the alphabet, what is no class of its own last."""
    return sorted(names, key=lambda name: (name in (OTHERS, "O", "no answer"), name))
