"""Precision over recall at every threshold, where there are two classes or several labels."""

from collections.abc import Iterator

import numpy as np

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.curves import LEGEND_NAME, MOST_CURVES, MOST_LINES, Quantity, drawable, threshold_chart
from finetune.commands.report.split_view import SplitView
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Curve

ORDER = 145


def blocks(split: SplitView) -> Iterator[Block]:
    """A curve for the second of two classes, or for each of the most frequent labels, with the threshold in use."""
    curves = split.view.curves()
    drawn, every = drawable(curves, MOST_CURVES), drawable(curves, MOST_LINES)
    if not drawn:
        return
    found = [(curve, 100 * steps.average_precision, 100 * float(np.mean(curve.positive))) for curve, steps in every]
    said = ", ".join(f"{curve.name} {area:.1f}" for curve, area, _ in found)
    only = f" Average precision {found[0][1]:.1f} %; at random {found[0][2]:.1f} %." if len(found) == 1 else ""
    columns = ["label", "average precision, %", "positive, %", "threshold"]
    lines = [
        [cut(curve.name, LEGEND_NAME), f"{area:.1f}", f"{share:.1f}", _threshold(curve, split)]
        for curve, area, share in found
    ]
    yield Block(
        title="Precision and recall",
        note=f"At every threshold; the marker is the threshold in use{_of_one(found[0][0], split, len(found))}.{only}",
        chart=threshold_chart(
            drawn,
            x=Quantity(name="recall", label="recall, %", of=lambda steps: steps.recall),
            y=Quantity(name="precision", label="precision, %", of=lambda steps: steps.precision),
            says=f"Average precision: {said}",
        ),
        table=TableBlock(columns=columns, rows=lines, sorts=True) if len(lines) > 1 else None,
    )


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
