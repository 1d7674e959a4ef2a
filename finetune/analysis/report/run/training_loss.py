"""Training loss by update, or by epoch if the log is missing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.run_files import RunFiles
from finetune.analysis.report.svg import ONE, axes_of, drawn
from finetune.data.messages import so_many

ORDER = 20
POINTS = 150  # of a curve


def blocks(run: RunFiles) -> Iterator[Block]:
    """The curve, and the epoch whose weights were kept."""
    epochs = run.record.epochs
    if epochs:
        note = f"{so_many(len(epochs), 'epoch')}; the weights of epoch {run.record.selected_epoch} were kept."
        yield Block(title="Training loss", chart=_chart(run.losses, epochs), note=note)


def _chart(losses: Sequence[tuple[int, float]], epochs: Sequence[Mapping[str, Any]]) -> Markup:
    """A line chart; many updates are averaged in groups."""
    updates, values = _thinned(losses) if losses else ([e["epoch"] for e in epochs], [e["loss"] for e in epochs])
    unit = "update" if losses else "epoch"

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=unit, y="training loss")
        axes.plot(updates, values, color=ONE, linewidth=1.6, marker="" if len(updates) > 40 else "o", markersize=4)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))

    return drawn(draw, says=f"Training loss by {unit}: first {values[0]:.3f}, last {values[-1]:.3f}")


def _thinned(points: Sequence[tuple[int, float]], most: int = POINTS) -> tuple[list[float], list[float]]:
    """At most `most` points, each the mean of about as many neighbours."""
    parts = np.array_split(np.asarray(points, float), min(most, len(points)))
    return [float(part[:, 0].mean()) for part in parts], [float(part[:, 1].mean()) for part in parts]
