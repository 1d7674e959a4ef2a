"""ROC curve: recall over false alarms at every threshold, where there are two classes or several labels."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.chart import Axis, chart
from finetune.analysis.report.curves import chosen_point, drawable, some_points
from finetune.analysis.report.marks import MARKERS, dots, line
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.svg import DASHES, NAME, SERIES
from finetune.task_types.marked_text import cut

ORDER = 44
MOST_CURVES = 5
MOST_LINES = 100


def blocks(split: SplitView) -> Iterator[Block]:
    """A curve for the second of two classes, or for each of the most frequent labels; the area under each."""
    curves = split.view.curves()
    drawn, every = drawable(curves, MOST_CURVES), drawable(curves, MOST_LINES)
    if not drawn:
        return
    marks = [line([(0, 0), (100, 100)], colour="quiet", dash="2 3", name="chance")]
    for number, (curve, steps) in enumerate(drawn):
        points = some_points(np.append(0.0, steps.false_alarms), np.append(0.0, steps.recall))
        name = cut(curve.name, NAME)
        marks.append(line(points, colour=SERIES[number], dash=DASHES[number], name=name))
        recall, alarms, _ = chosen_point(curve)
        tip = f"{name} at its threshold: recall {100 * recall:.1f} %, false alarms {100 * alarms:.1f} %"
        marks.append(
            dots([(100 * alarms, 100 * recall)], colour=SERIES[number], shape=MARKERS[number], tips=[tip], radius=5)
        )
    areas = [(curve.name, 100 * steps.roc_area) for curve, steps in every]
    lines = [[cut(name, NAME), f"{area:.1f}"] for name, area in areas]
    said = ", ".join(f"{name} {area:.1f}" for name, area in areas)
    only = f" Area under the curve {areas[0][1]:.1f} %." if len(areas) == 1 else ""
    yield Block(
        title="ROC",
        note=f"Recall over false alarms at every threshold; the marker is the threshold in use.{only}",
        chart=chart(
            marks, x=Axis(label="false alarms, % of the negative rows", low=0.0, high=100.0),
            y=Axis(label="recall, %", low=0.0, high=100.0), height=230, says=f"Area under the ROC curve: {said}",
        ),
        table=Table(columns=["label", "area, %"], rows=lines, sorts=True) if len(lines) > 1 else None,
    )  # fmt: skip
