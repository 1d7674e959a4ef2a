"""Precision over recall at every threshold, where there are two classes or several labels."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.chart import Axis, chart
from finetune.analysis.report.curves import chosen_point, drawable, some_points
from finetune.analysis.report.marks import MARKERS, dots, line
from finetune.analysis.report.split.roc import MOST_CURVES, MOST_LINES
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.svg import DASHES, NAME, SERIES
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Curve

ORDER = 45


def blocks(split: SplitView) -> Iterator[Block]:
    """A curve for the second of two classes, or for each of the most frequent labels, with the threshold in use."""
    curves = split.view.curves()
    drawn, every = drawable(curves, MOST_CURVES), drawable(curves, MOST_LINES)
    if not drawn:
        return
    marks = []
    for number, (curve, steps) in enumerate(drawn):
        name = cut(curve.name, NAME)
        points = some_points(steps.recall, steps.precision)
        marks.append(line(points, colour=SERIES[number], dash=DASHES[number], name=name))
        recall, _, precision = chosen_point(curve)
        tip = f"{name} at its threshold: precision {100 * precision:.1f} %, recall {100 * recall:.1f} %"
        place = [(100 * recall, 100 * precision)]
        marks.append(dots(place, colour=SERIES[number], shape=MARKERS[number], tips=[tip], radius=5))
    found = [(curve, 100 * steps.average_precision, 100 * float(np.mean(curve.positive))) for curve, steps in every]
    said = ", ".join(f"{curve.name} {area:.1f}" for curve, area, _ in found)
    only = f" Average precision {found[0][1]:.1f} %; at random {found[0][2]:.1f} %." if len(found) == 1 else ""
    columns = ["label", "average precision, %", "positive, %", "threshold"]
    lines = [
        [cut(curve.name, NAME), f"{area:.1f}", f"{share:.1f}", _threshold(curve, split)] for curve, area, share in found
    ]
    yield Block(
        title="Precision and recall",
        note=f"At every threshold; the marker is the threshold in use{_of_one(found[0][0], split, len(found))}.{only}",
        chart=chart(
            marks, x=Axis(label="recall, %", low=0.0, high=100.0), y=Axis(label="precision, %", low=0.0, high=100.0),
            height=230, says=f"Average precision: {said}",
        ),
        table=Table(columns=columns, rows=lines, sorts=True) if len(lines) > 1 else None,
    )  # fmt: skip


def _threshold(curve: Curve, split: SplitView) -> str:
    """The threshold of a label that the saved model has; 0.5 between two classes."""
    if split.view.softmax:
        return "0.5"
    given, labels = split.run.record.options.get("thresholds"), list(split.view.labels)
    if not isinstance(given, list) or len(given) != len(labels) or curve.name not in labels:
        return ""
    return f"{given[labels.index(curve.name)]:.2f}"


def _of_one(curve: Curve, split: SplitView, count: int) -> str:
    text = _threshold(curve, split)
    return f", {text}" if count == 1 and text else ""
