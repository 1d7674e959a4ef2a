"""Scatter plot of predictions over labels, for regression."""

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.svg import ONE, QUIET, axes_of, drawn
from finetune.analysis.report.temperature import Temperature
from finetune.data.messages import so_many
from finetune.task_types.view import View

ORDER = 30
DOTS = 600


def blocks(view: View, _: Temperature | None) -> Iterator[Block]:
    """A plot, if labels are numbers."""
    if (numbers := view.numbers()) is not None:
        yield Block(title="Predicted vs. true", chart=_chart(*numbers))


def _chart(labels: np.ndarray, predictions: np.ndarray) -> Markup:
    """At most DOTS rows, with the diagonal."""
    some = np.random.default_rng(0).permutation(len(labels))[:DOTS]

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x="label", y="prediction")
        ends = [min(labels.min(), predictions.min()), max(labels.max(), predictions.max())]
        axes.plot(ends, ends, color=QUIET, linestyle="--", linewidth=1.2)
        axes.plot(labels[some], predictions[some], "o", color=ONE, markersize=4, alpha=0.6, markeredgewidth=0)

    return drawn(draw, says=f"Predictions over labels of {so_many(len(some))}", height=300)
