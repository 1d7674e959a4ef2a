"""Scatter plot of predictions over labels, for regression."""

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import dots, line
from finetune.commands.report.blocks import Block
from finetune.commands.report.split_view import SplitView
from finetune.data.messages import so_many

ORDER = 22
DOTS = 600


def blocks(split: SplitView) -> Iterator[Block]:
    """A plot, if labels are numbers."""
    if (numbers := split.view.numbers()) is not None:
        yield Block(title="Predicted vs. true", chart=_chart(*numbers))


def _chart(labels: np.ndarray, predictions: np.ndarray) -> Markup:
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
