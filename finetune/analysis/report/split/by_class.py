"""Precision, recall and F1 of each label or entity type."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.chart import Axis, chart, names_axis
from finetune.analysis.report.marks import Mark, dots, line
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore

ORDER = 10
MOST_CLASSES = 25  # of a chart
MOST_LINES = 200  # of a table


def blocks(split: SplitView) -> Iterator[Block]:
    """A chart and a table, the most frequent class first; of many classes, the most frequent."""
    every = sorted(split.view.classes(), key=lambda one: -one.gold)
    if not every:
        return
    kept = {id(one) for one in sorted(every, key=lambda one: -(one.gold + one.answered))[:MOST_LINES]}
    shown = [one for one in every if id(one) in kept]
    counted = shown_of(len(shown), len(every), "classes, the most frequent")
    yield Block(
        title="By class",
        note=f"Support is the number of labels; click a column to sort by it. {counted}",
        chart=_chart(shown[:MOST_CLASSES], len(every)),
        table=Table(
            columns=["class", "support", "f1", "precision", "recall", "predicted"],
            rows=[_line(one) for one in shown],
            sorts=True,
        ),
        wide=True,
    )


def _line(one: ClassScore) -> list[str]:
    scores = (f"{100 * value:.1f}" for value in (one.f1, one.precision, one.recall))
    return [cut(one.name, NAME), f"{one.gold:,}", *scores, f"{one.answered:,}"]


def _chart(classes: Sequence[ClassScore], every: int) -> Markup:
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
