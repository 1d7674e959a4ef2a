"""Predictions of a split by class: confusion, precision, recall and F1; of numbers a scatter plot."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.svg import Axis, Mark, chart, dots, line, names_axis, text_width
from finetune.commands.report.blocks import Block, Matrix, TableBlock
from finetune.commands.report.rows import names_of
from finetune.commands.report.run_files import SplitView
from finetune.commands.report.text import NAME, shown_of
from finetune.data.messages import so_many
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore, View

MOST_DRAWN = 25  # of a chart
MOST_LINES = 200  # of a table
AREAS = ("AUC", "AP")

Areas = Mapping[str, Sequence[float]]  # by class, in the order of AREAS


def class_block(split: SplitView) -> Iterator[Block]:
    """A chart and a table, the most frequent class first, or in their order; of many classes, the most frequent."""
    every = by_support(split.view)
    if not every:
        return
    kept = {id(one) for one in sorted(every, key=lambda one: -(one.gold + one.answered))[:MOST_LINES]}
    shown = [one for one in every if id(one) in kept]
    counted = shown_of(len(shown), len(every), "classes, the most frequent")
    yield Block(
        title="By class",
        note=f"Support is the number of labels. {counted}",
        hint="A click on a column's name sorts by it.",
        chart=_class_chart(shown[:MOST_DRAWN], len(every)),
        table=TableBlock(
            columns=["class", "support", "f1", "precision", "recall", "predicted"],
            rows=[_class_line(one) for one in shown],
            foot=_averages(every) if len(shown) == len(every) > 1 else [],
            sorts=True,
        ),
        wide=True,
    )


def by_support(view: View) -> list[ClassScore]:
    """The classes, the most frequent first; ordered ones from the lowest to the highest."""
    places = {label: place for place, label in enumerate(view.order)}
    return sorted(view.classes(), key=lambda one: (places.get(one.name, len(places)), -one.gold))


def _class_line(one: ClassScore) -> list[str]:
    return [cut(one.name, NAME), f"{one.gold:,}", *_percent(_parts(one)), f"{one.answered:,}"]


def _parts(one: ClassScore) -> tuple[float, ...]:
    return one.f1, one.precision, one.recall


def _percent(values: Sequence[float]) -> list[str]:
    return [f"{100 * value:.1f}" for value in values]


def _averages(every: Sequence[ClassScore]) -> list[list[str]]:
    """Means over the classes that occur in labels or predictions, as in scikit-learn's classification_report: equal
    weights (macro), and by support.
    """
    there = [one for one in every if one.gold or one.answered]
    support = np.array([one.gold for one in there], float)
    values = np.array([_parts(one) for one in there])
    totals = [f"{sum(one.gold for one in there):,}", f"{sum(one.answered for one in there):,}"]
    kinds = [("macro average", np.ones(len(there)))] + [("weighted average", support)] * bool(support.any())
    return [
        [name, totals[0], *_percent((weights @ values / weights.sum()).tolist()), totals[1]] for name, weights in kinds
    ]


def _class_chart(classes: Sequence[ClassScore], every: int) -> Markup:
    """A line per class with a marker each for precision, recall and F1."""
    marks: list[Mark] = [
        line([(100 * one.precision, -at), (100 * one.recall, -at)], colour="quiet") for at, one in enumerate(classes)
    ]
    for part, shape, colour in (("precision", "left", "s2"), ("recall", "right", "s3"), ("f1", "circle", "s1")):
        values = [100 * getattr(one, part) for one in classes]
        tips = [f"{one.name}: {part} {value:.1f}" for one, value in zip(classes, values, strict=True)]
        points = [(value, -at) for at, value in enumerate(values)]
        marks.append(dots(points, colour=colour, shape=shape, name=part, tips=tips, radius=3.6))
    scores = "; ".join(f"{one.name} {100 * one.f1:.1f}" for one in classes)
    label = f"% (the {len(classes)} most frequent classes)" if every > len(classes) else "%"
    return chart(
        marks, x=Axis(low=0.0, high=100.0, label=label), y=names_axis([one.name for one in classes]),
        height=24.0 * len(classes) + 8, says=f"F1 of each class: {scores}",
    )  # fmt: skip


MOST_CLASSES = 25
OTHERS = "(others)"
CORNER = "label \\ prediction"
FONT, PADDING, LEAST_CELL = 14.0, 13.0, 48.0  # pixels, as in the style sheet
CARD = 330.0  # pixels within the narrowest card


def confusion_block(split: SplitView) -> Iterator[Block]:
    """A matrix, where there are two classes or more; of many the most frequent, the others merged."""
    counted = Counter(split.view.pairs())
    seen = Counter[str]()
    for (label, prediction), count in counted.items():
        seen.update({label: count})
        seen.update({prediction: count})
    if len(seen) < 2:
        return
    kept = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    merged = Counter[tuple[str, str]]()
    for (label, prediction), count in counted.items():
        merged[label if label in kept else OTHERS, prediction if prediction in kept else OTHERS] += count
    matrix = _matrix(merged, split, [one.name for one in by_support(split.view)])
    shown = shown_of(len(kept), len(seen), "classes, the most frequent")
    yield Block(
        title="Confusion",
        note=f"Down: label, across: prediction. A cell has its count and its share of the label's row. {shown}",
        hint="A click on a count shows its rows.",
        matrix=matrix,
        wide=_width(matrix) > CARD,
    )


def _matrix(counted: Mapping[tuple[str, str], int], split: SplitView, classes: Sequence[str]) -> Matrix:
    """`classes` are in the order of the block by class."""
    names = names_of(split.view)
    down, across = (_ordered({pair[side] for pair in counted}, classes) for side in (0, 1))
    if split.view.square:
        down = across = _ordered({*down, *across}, classes)
    counts = [[counted.get((label, prediction), 0) for prediction in across] for label in down]
    return Matrix(
        down=[cut(name, NAME) for name in down],
        across=[cut(name, NAME) for name in across],
        counts=counts,
        shares=[[count / max(1, sum(row)) for count in row] for row in counts],
        rows=split.rows_id,
        links=[[_link(names, label, prediction) for prediction in across] for label in down],
    )


def _link(names: Mapping[str, int], label: str, prediction: str) -> tuple[int, int] | None:
    return (names[label], names[prediction]) if label in names and prediction in names else None


def _ordered(names: set[str], classes: Sequence[str]) -> Sequence[str]:
    """The classes in their order, then others alphabetically, with names that are not classes last."""
    places = {name: place for place, name in enumerate(classes)}
    return sorted(names, key=lambda name: (name in (OTHERS, "O", "no answer"), places.get(name, len(places)), name))


def _width(matrix: Matrix) -> float:
    """The pixels that a matrix takes on a screen."""
    names = [CORNER, *matrix.down]
    cells = (max(LEAST_CELL, text_width(name, FONT) + PADDING) for name in matrix.across)
    return max(text_width(name, FONT) for name in names) + PADDING + sum(cells)


DOTS = 600


def scatter_block(split: SplitView) -> Iterator[Block]:
    """A plot, if labels are numbers."""
    if (numbers := split.view.numbers()) is not None:
        yield Block(title="Predicted vs. true", chart=_scatter_chart(*numbers))


def _scatter_chart(labels: np.ndarray, predictions: np.ndarray) -> Markup:
    """At most DOTS rows, with the diagonal."""
    some = np.random.default_rng(0).permutation(len(labels))[:DOTS]
    low, high = (float(end(np.concatenate([labels, predictions]))) for end in (np.min, np.max))
    points = list(zip(labels[some].tolist(), predictions[some].tolist(), strict=True))
    marks = [
        line([(low, low), (high, high)], colour="quiet", dash="6 3", name="prediction = label"),
        dots(points, radius=2.4, faint=True, tips=[f"label {a:.3g}, prediction {b:.3g}" for a, b in points]),
    ]
    return chart(
        marks, x=Axis(label="label"), y=Axis(label="prediction"), height=240,
        says=f"Predictions over labels of {so_many(len(some))}",
    )  # fmt: skip
