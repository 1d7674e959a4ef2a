"""Training loss by update, or by epoch if the log is missing, with the loss on dev after each epoch or part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import Mark, line
from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles
from finetune.metrics.metric import Metric
from finetune.runs.losses import thinned

ORDER = 120


def blocks(run: RunFiles) -> Iterator[Block]:
    """The curves, and the epoch whose weights were kept, where there are several losses."""
    epochs, updates = run.record.epochs, [(at, loss) for at, loss in run.losses if np.isfinite(loss)]
    points = thinned(updates) if len(updates) > 1 else [(e["epoch"], e["loss"]) for e in epochs]
    if len(points) < 2:
        return
    unit = "update" if len(updates) > 1 else "epoch"
    step = updates[-1][0] / len(epochs) if len(updates) > 1 and epochs else 1
    dev = [
        (step * epoch["epoch"], loss) for epoch, loss in zip(epochs, _on_dev(epochs), strict=True) if loss is not None
    ]
    part, _ = run.record.parts
    kept = (
        f"{len(epochs)} {part}{'s' * (len(epochs) != 1)}; the weights of {part} {run.record.selected_epoch} were kept."
    )
    yield Block(title="Loss", chart=_chart(points, dev, (unit, part)), note=kept + _overfitting(epochs, run, part))


def _on_dev(epochs: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """The loss on dev after each epoch, None where it is unknown, which a record reads as NaN."""
    losses = (epoch.get("dev_loss") for epoch in epochs)
    return [loss if loss is not None and np.isfinite(loss) else None for loss in losses]


def _overfitting(epochs: Sequence[Mapping[str, Any]], run: RunFiles, part: str) -> str:
    """A note where the loss on dev was lowest before the last epoch, or part of a run."""
    losses = [loss for loss in _on_dev(epochs) if loss is not None]
    if len(losses) < 2 or len(losses) < len(epochs) or losses[-1] <= min(losses):
        return ""
    metric: Metric = run.record.metric(run.record.headline)
    best = max(range(len(epochs)), key=lambda at: metric.rank(epochs[at]["headline"])) + 1
    text = f" The loss on dev was lowest after {part} {losses.index(min(losses)) + 1}"
    return f"{text}; the score was best after {part} {best}."


def _chart(points: Sequence[tuple[float, float]], dev: Sequence[tuple[float, float]], units: tuple[str, str]) -> Markup:
    """`units` are what training losses and those on dev come after."""
    unit, part = units
    marks: list[Mark] = [line(points, name="training")]
    if dev:
        marks.append(line(dev, colour="s2", marker="square", name=f"dev, after each {part}", tips=True))
    after = "".join(f", {loss:.3f}" for _, loss in dev)
    said = f"Training loss by {unit}: first {points[0][1]:.3f}, last {points[-1][1]:.3f}"
    return chart(
        marks, x=Axis(label=unit, whole=True), y=Axis(label="mean loss of a label", low=0.0),
        says=said + (f"; on dev{after}" if dev else ""),
    )  # fmt: skip
