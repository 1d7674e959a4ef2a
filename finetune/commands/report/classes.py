"""Predictions of a split by class: confusion, precision, recall and F1; of numbers a scatter plot."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from finetune.analysis.pages.svg import Axis, Mark, chart, dots, line, names_axis, text_width
from finetune.commands.report.blocks import Block, Matrix, TableBlock
from finetune.commands.report.rows import names_of
from finetune.commands.report.run_files import SplitView
from finetune.commands.report.text import NAME, shown_of
from finetune.data.messages import so_many
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore, View

MOST_DRAWN = 25  # classes of a chart
MOST_LINES = 200  # of a table
MOST_CLASSES = 25  # of a confusion
OTHERS = "(others)"
LAST = (OTHERS, "O", "no answer")  # names that are not classes
FONT, PADDING, LEAST_CELL = 14.0, 13.0, 48.0  # pixels, as in the style sheet
CARD = 330.0  # pixels within the narrowest card
DOTS = 600  # rows of a scatter plot


def class_block(split: SplitView) -> Iterator[Block]:
    """A chart and a table, the most frequent class first, or in their order; of many classes, the first."""
    every = by_support(split.view)
    if not every:
        return
    shown, drawn = every[:MOST_LINES], every[:MOST_DRAWN]
    yield Block(
        title="By class",
        note=f"Support is the number of labels. {shown_of(len(shown), len(every), 'classes, the most frequent')}",
        hint="A click on a column's name sorts by it.",
        chart=chart(
            _class_marks(drawn),
            x=Axis(low=0.0, high=100.0, label=f"% (the {MOST_DRAWN} most frequent classes)" * (drawn != every) or "%"),
            y=names_axis([one.name for one in drawn]),
            height=24.0 * len(drawn) + 8,
            says=f"F1 of each class: {'; '.join(f'{one.name} {100 * one.f1:.1f}' for one in drawn)}",
        ),
        table=TableBlock(
            columns=["class", "support", "f1", "precision", "recall", "predicted"],
            rows=[_cells(cut(one.name, NAME), one.gold, _parts(one), one.answered) for one in shown],
            foot=_averages(every) if len(shown) == len(every) > 1 else [],
            sorts=True,
        ),
        wide=True,
    )


def by_support(view: View) -> list[ClassScore]:
    """The classes, the most frequent first; ordered ones from the lowest to the highest."""
    places = {label: place for place, label in enumerate(view.order)}
    return sorted(view.classes(), key=lambda one: (places.get(one.name, len(places)), -one.gold))


def _parts(one: ClassScore) -> tuple[float, ...]:
    return one.f1, one.precision, one.recall


def _cells(name: str, support: int, parts: Sequence[float], predicted: int) -> list[str]:
    return [name, f"{support:,}", *(f"{100 * value:.1f}" for value in parts), f"{predicted:,}"]


def _averages(every: Sequence[ClassScore]) -> list[list[str]]:
    """Means over the classes that occur in labels or predictions, as in scikit-learn's classification_report: equal
    weights (macro), and by support.
    """
    there = [one for one in every if one.gold or one.answered]
    support, values = np.array([one.gold for one in there], float), np.array([_parts(one) for one in there])
    kinds = [("macro average", np.ones(len(there)))] + [("weighted average", support)] * bool(support.any())
    predicted = sum(one.answered for one in there)
    return [
        _cells(name, int(support.sum()), (weights @ values / weights.sum()).tolist(), predicted)
        for name, weights in kinds
    ]


def _class_marks(classes: Sequence[ClassScore]) -> list[Mark]:
    """A line per class with a marker each for precision, recall and F1."""
    marks = [
        line([(100 * one.precision, -at), (100 * one.recall, -at)], colour="quiet") for at, one in enumerate(classes)
    ]
    for part, shape, colour in (("precision", "left", "s2"), ("recall", "right", "s3"), ("f1", "circle", "s1")):
        points = [(100 * getattr(one, part), -float(at)) for at, one in enumerate(classes)]
        tips = [f"{one.name}: {part} {value:.1f}" for one, (value, _) in zip(classes, points, strict=True)]
        marks.append(dots(points, colour=colour, shape=shape, name=part, tips=tips, radius=3.6))
    return marks


def confusion_block(split: SplitView) -> Iterator[Block]:
    """A matrix, where there are two classes or more; of many the most frequent, the others merged.

    Rows and columns are in the order of the block by class, and a cell links to its rows.
    """
    pairs = split.view.pairs()
    seen = Counter(name for pair in pairs for name in pair)
    if len(seen) < 2:
        return
    kept = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    counted = Counter(tuple(name if name in kept else OTHERS for name in pair) for pair in pairs)
    places = {one.name: place for place, one in enumerate(by_support(split.view))}

    def ordered(found: set[str]) -> list[str]:
        return sorted(found, key=lambda name: (name in LAST, places.get(name, len(places)), name))

    down, across = (ordered({pair[side] for pair in counted}) for side in (0, 1))
    if split.view.square:
        down = across = ordered({*down, *across})
    counts = [[counted.get((label, prediction), 0) for prediction in across] for label in down]
    names = names_of(split.view)
    matrix = Matrix(
        down=[cut(name, NAME) for name in down],
        across=[cut(name, NAME) for name in across],
        counts=counts,
        shares=[[count / max(1, sum(row)) for count in row] for row in counts],
        rows=split.rows_id,
        links=[[_link(names, label, prediction) for prediction in across] for label in down],
    )
    widest = max(text_width(name, FONT) for name in ("label \\ prediction", *matrix.down))
    cells = (max(LEAST_CELL, text_width(name, FONT) + PADDING) for name in matrix.across)
    shown = shown_of(len(kept), len(seen), "classes, the most frequent")
    yield Block(
        title="Confusion",
        note=f"Down: label, across: prediction. A cell has its count and its share of the label's row. {shown}",
        hint="A click on a count shows its rows.",
        matrix=matrix,
        wide=widest + PADDING + sum(cells) > CARD,
    )


def _link(names: Mapping[str, int], label: str, prediction: str) -> tuple[int, int] | None:
    return (names[label], names[prediction]) if label in names and prediction in names else None


def scatter_block(split: SplitView) -> Iterator[Block]:
    """A plot of at most DOTS rows with the diagonal, if labels are numbers."""
    found = split.view.numbers()
    if found is None:
        return
    labels, predictions = found
    some = np.random.default_rng(0).permutation(len(labels))[:DOTS]
    low, high = (float(end(np.concatenate(found))) for end in (np.min, np.max))
    points = list(zip(labels[some].tolist(), predictions[some].tolist(), strict=True))
    tips = [f"label {a:.3g}, prediction {b:.3g}" for a, b in points]
    marks = [
        line([(low, low), (high, high)], colour="quiet", dash="6 3", name="prediction = label"),
        dots(points, radius=2.4, faint=True, tips=tips),
    ]
    drawn = chart(
        marks, x=Axis(label="label"), y=Axis(label="prediction"), height=240,
        says=f"Predictions over labels of {so_many(len(some))}",
    )  # fmt: skip
    yield Block(title="Predicted vs. true", chart=drawn)
