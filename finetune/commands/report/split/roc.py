"""ROC curve: recall over false alarms at every threshold, where there are two classes or several labels."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.pages.marks import line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.curves import (
    LEGEND_NAME,
    MOST_CURVES,
    MOST_LINES,
    Quantity,
    Thresholds,
    drawable,
    threshold_chart,
)  # fmt: skip
from finetune.commands.report.split_view import SplitView
from finetune.task_types.marked_text import cut

ORDER = 144


def blocks(split: SplitView) -> Iterator[Block]:
    """A curve for the second of two classes, or for each of the most frequent labels; the area under each."""
    curves = split.view.curves()
    drawn, every = drawable(curves, MOST_CURVES), drawable(curves, MOST_LINES)
    if not drawn:
        return
    areas = [(curve.name, 100 * steps.roc_area) for curve, steps in every]
    lines = [[cut(name, LEGEND_NAME), f"{area:.1f}"] for name, area in areas]
    said = ", ".join(f"{name} {area:.1f}" for name, area in areas)
    only = f" Area under the curve {areas[0][1]:.1f} %." if len(areas) == 1 else ""
    yield Block(
        title="ROC",
        note=f"Recall over false alarms at every threshold; the marker is the threshold in use.{only}",
        chart=threshold_chart(
            drawn,
            x=Quantity(name="false alarms", label="false alarms, % of the negative rows", of=_false_alarms),
            y=Quantity(name="recall", label="recall, %", of=_recall),
            says=f"Area under the ROC curve: {said}",
            under=[line([(0, 0), (100, 100)], colour="quiet", dash="2 3", name="chance")],
        ),
        table=TableBlock(columns=["label", "area, %"], rows=lines, sorts=True) if len(lines) > 1 else None,
    )


def _false_alarms(steps: Thresholds) -> np.ndarray:
    """From a threshold over all rows on."""
    return np.append(0.0, steps.false_alarms)


def _recall(steps: Thresholds) -> np.ndarray:
    return np.append(0.0, steps.recall)
