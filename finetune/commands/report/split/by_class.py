"""Precision, recall and F1 of each label or entity type, and the areas under its curves."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart, names_axis
from finetune.analysis.pages.marks import Mark, dots, line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.curves import steps_of
from finetune.commands.report.split_view import SplitView
from finetune.commands.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut
from finetune.task_types.view import ClassScore, View

ORDER = 30
MOST_CLASSES = 25  # of a chart
MOST_LINES = 200  # of a table
AREAS = ("AUC", "AP")

Areas = Mapping[str, Sequence[float]]  # by class, in the order of AREAS


def blocks(split: SplitView) -> Iterator[Block]:
    """A chart and a table, the most frequent class first, or in their order; of many classes, the most frequent."""
    every = by_support(split.view)
    if not every:
        return
    kept = {id(one) for one in sorted(every, key=lambda one: -(one.gold + one.answered))[:MOST_LINES]}
    shown = [one for one in every if id(one) in kept]
    areas = _areas(split.view, [one.name for one in shown])
    counted = shown_of(len(shown), len(every), "classes, the most frequent")
    against = " AUC and AP (average precision) are of each class against the rest." if areas else ""
    yield Block(
        title="By class",
        note=f"Support is the number of labels.{against} {counted}",
        hint="A click on a column's name sorts by it.",
        chart=_chart(shown[:MOST_CLASSES], len(every)),
        table=TableBlock(
            columns=["class", "support", "f1", "precision", "recall", "predicted", *(AREAS if areas else ())],
            rows=[_line(one, areas) for one in shown],
            foot=_averages(every, areas) if len(shown) == len(every) > 1 else [],
            sorts=True,
        ),
        wide=True,
    )


def by_support(view: View) -> list[ClassScore]:
    """The classes, the most frequent first; ordered ones from the lowest to the highest."""
    places = {label: place for place, label in enumerate(view.order)}
    return sorted(view.classes(), key=lambda one: (places.get(one.name, len(places)), -one.gold))


def _areas(view: View, names: Sequence[str]) -> Areas:
    """The areas in the order of AREAS of each class that has rows and is not the label of all; empty without
    probabilities.
    """
    wanted = set(names)
    found = ((curve.name, steps_of(curve)) for curve in view.class_curves() if curve.name in wanted)
    return {name: (steps.roc_area, steps.average_precision) for name, steps in found if steps is not None}


def _line(one: ClassScore, areas: Areas) -> list[str]:
    return [cut(one.name, NAME), f"{one.gold:,}", *_percent(_parts(one)), f"{one.answered:,}", *_shown(one.name, areas)]


def _parts(one: ClassScore) -> tuple[float, ...]:
    return one.f1, one.precision, one.recall


def _shown(name: str, areas: Areas) -> list[str]:
    return _percent(areas.get(name, [np.nan] * len(AREAS))) if areas else []


def _percent(values: Sequence[float]) -> list[str]:
    return [f"{100 * value:.1f}" if np.isfinite(value) else "" for value in values]


def _averages(every: Sequence[ClassScore], areas: Areas) -> list[list[str]]:
    """Means over the classes that occur in labels or predictions, as in scikit-learn's classification_report: equal
    weights (macro), and by support. The areas are those of the classes that have one.
    """
    there = [one for one in every if one.gold or one.answered]
    support = np.array([one.gold for one in there], float)
    values = np.array([[*_parts(one), *areas.get(one.name, [np.nan] * len(AREAS) * bool(areas))] for one in there])
    totals = [f"{sum(one.gold for one in there):,}", f"{sum(one.answered for one in there):,}"]
    lines = []
    for name, weights in (("macro average", np.ones(len(there))), ("weighted average", support)):
        known = np.where(np.isfinite(values), weights[:, None], 0.0)
        sums = known.sum(0)
        means = np.where(sums > 0, (np.nan_to_num(values) * known).sum(0) / np.where(sums > 0, sums, 1), np.nan)
        scores = _percent(means.tolist())
        lines.append([name, totals[0], *scores[:3], totals[1], *scores[3:]])
    return lines


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
