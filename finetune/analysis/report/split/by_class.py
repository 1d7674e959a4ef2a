"""Precision, recall and F1 of each label or entity type."""

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.svg import NAME as AXIS_NAME
from finetune.analysis.report.svg import ONE, QUIET, THREE, TWO, axes_of, drawn, percent
from finetune.analysis.report.temperature import Temperature
from finetune.analysis.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore, View

ORDER = 10
MOST_CLASSES = 25  # of a chart
MOST_LINES = 60  # of a table


def blocks(view: View, _: Temperature | None) -> Iterator[Block]:
    """A chart and a table; of many classes, the most frequent."""
    every = view.classes()
    if not every:
        return
    kept = {id(one) for one in sorted(every, key=lambda one: -(one.gold + one.answered))[:MOST_LINES]}
    shown = [one for one in every if id(one) in kept]
    yield Block(
        title="By class",
        note=shown_of(len(shown), len(every), "classes, the most frequent"),
        chart=_chart(shown) if len(shown) <= MOST_CLASSES else None,
        table=Table(
            columns=["class", "precision", "recall", "f1", "label", "prediction", "both"],
            rows=[_line(one) for one in shown],
        ),
    )


def _line(one: ClassScore) -> list[str]:
    scores = (f"{100 * value:.1f}" for value in (one.precision, one.recall, one.f1))
    return [cut(one.name, NAME), *scores, *(f"{value:,}" for value in (one.gold, one.answered, one.right))]


def _chart(classes: Sequence[ClassScore]) -> Markup:
    """A line per class with a marker each for precision, recall and F1."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure)
        positions = np.arange(len(classes))[::-1]
        for position, one in zip(positions, classes, strict=True):
            axes.plot(percent([one.precision, one.recall]), [position, position], color=QUIET, linewidth=1)
        for part, marker, colour in (("precision", "<", TWO), ("recall", ">", THREE), ("f1", "o", ONE)):
            values = percent([getattr(one, part) for one in classes])
            axes.plot(values, positions, marker, color=colour, markersize=8, label=part, clip_on=False)
        axes.set_yticks(positions, [cut(one.name, AXIS_NAME) for one in classes])
        axes.set_xlim(0, 102)
        axes.set_ylim(-0.6, len(classes) - 0.4)
        figure.legend(loc="outside lower center", ncols=3)

    scores = "; ".join(f"{one.name} {100 * one.f1:.1f}" for one in classes)
    return drawn(draw, says=f"F1 of each class: {scores}", height=90 + 28 * len(classes))
