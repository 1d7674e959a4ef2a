"""The cards that the predictions of a split give: classes, confusion, calibration, lengths, and rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finetune.analysis.report.blocks import Card, Matrix, Table
from finetune.analysis.report.charts_split import class_chart, length_chart, reliability_chart, scatter_chart
from finetune.analysis.report.lengths import length_bins
from finetune.analysis.report.row_sections import examples_card, mistakes_card, shown_of, suspects_card
from finetune.metrics.calibration import expected_error, reliability
from finetune.metrics.temperature import fit_temperature, highest_with_temperature
from finetune.task_types.marked_text import cut
from finetune.task_types.view import View

MOST_CLASSES = 25  # of a chart and of a matrix
MOST_LINES = 60  # of a table
OTHERS = "(others)"
NAME = 40


@dataclass(frozen=True, kw_only=True)
class Temperature:
    """What it is, and which rows it was fitted on, in words."""

    value: float
    of: str


def split_cards(view: View, temperature: Temperature | None) -> Iterator[Card]:
    """All that a type has."""
    yield from class_cards(view)
    if pairs := view.pairs():
        yield matrix_card(pairs, square=view.square)
    if (numbers := view.numbers()) is not None:
        yield Card(title="Answers over golds", chart=scatter_chart(*numbers))
    yield from calibration_cards(view, temperature)
    if bins := length_bins(view.lengths(), view.scores()):
        chart = length_chart(bins, measure=view.measure, length=view.length_in, bounded=view.bounded)
        note = f"{view.measure}, in bins of about as many rows each, with 95 % intervals."
        yield Card(title="Length and score", note=note[0].upper() + note[1:], chart=chart)
    yield mistakes_card(view)
    yield suspects_card(view)
    yield examples_card(view)


def temperature_of(view: View) -> Temperature | None:
    """The one that fits these rows best; None where probabilities are no softmax, or it is not known which is whose."""
    chances = view.chances()
    return None if chances is None else Temperature(value=fit_temperature(*chances), of="these very rows")


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
        note=shown_of(len(shown), len(every), "classes, the most frequent"),
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
        f"{shown_of(len(kept), len(seen), 'classes, the most frequent')}",
        matrix=Matrix(
            down=[cut(name, NAME) for name in down],
            across=[cut(name, NAME) for name in across],
            counts=counts,
            shares=shares,
        ),
    )


def calibration_cards(view: View, temperature: Temperature | None) -> Iterator[Card]:
    """Reliability and ECE; for a softmax also with a temperature."""
    found = view.decisions()
    if found is None or not len(found[0]):
        return
    bins = reliability(*found)
    facts = [
        f"Expected calibration error (ECE) {100 * expected_error(bins):.1f} points "
        f"over {len(found[0]):,} {view.decision}."
    ]
    after = []
    if temperature is not None:
        chances = [line["probabilities"] for line in view.lines]
        after = reliability(highest_with_temperature(chances, temperature.value), found[1])
        better = f"{100 * expected_error(after):.1f}"
        facts.append(f"With the temperature {temperature.value:.2f}, fitted on {temperature.of}, {better}.")
    yield Card(title="Calibration", note=" ".join(facts), chart=reliability_chart(bins, after))


def _ordered(names: set[str]) -> list[str]:
    """By the alphabet, what is no class of its own last."""
    return sorted(names, key=lambda name: (name in (OTHERS, "O", "no answer"), name))
