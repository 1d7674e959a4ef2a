"""How a run was trained: its loss by update, and its score by epoch or update; the score also of several seeds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.svg import DASHES, MARKERS, SERIES, Axis, Mark, chart, level, line
from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import list_text, pairs_text
from finetune.metrics.metric import Metric
from finetune.runs.seeds import seed_words
from finetune.runs.verdict import baseline_words

LEAST_SPAN = 0.05  # of the axis of scores, of their scale
MOST_CURVES = 6
DRAWN = 150  # points of a drawn curve


def loss_block(run: RunFiles) -> Iterator[Block]:
    """The curves, and the epoch whose weights were kept, where there are several losses."""
    epochs, updates = run.record.epochs, [(at, loss) for at, loss in run.losses if np.isfinite(loss)]
    points = _thinned(updates) if len(updates) > 1 else [(e["epoch"], e["loss"]) for e in epochs]
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
    yield Block(title="Loss", chart=_loss_chart(points, dev, (unit, part)), note=kept + _overfitting(epochs, run, part))


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most DRAWN points, each the mean of about as many neighbours."""
    parts = np.array_split(np.asarray(points, float), min(DRAWN, len(points)))
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in parts]


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


def _loss_chart(
    points: Sequence[tuple[float, float]], dev: Sequence[tuple[float, float]], units: tuple[str, str]
) -> Markup:
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


def score_by_epoch(*runs: RunFiles) -> Iterator[Block]:
    """The headline score of runs that differ in seeds, a curve each of at most MOST_CURVES, where there are several
    epochs; the first run's baselines as horizontal lines.
    """
    records = {seed_words(run.record): run.record for run in runs[:MOST_CURVES]}
    if any(len(record.epochs) < 2 for record in records.values()):
        return
    first = runs[0].record
    metric, unit, name = first.metric(first.headline), first.scored_after[0], f"{first.first_split} {first.headline}"
    curves = {
        seed: list(zip(record.scored_after[1], (epoch["headline"] for epoch in record.epochs), strict=True))
        for seed, record in records.items()
    }
    baselines = {
        method: scores[first.headline] for method, scores in first.baselines.get(first.first_split, {}).items()
    }
    ends = [points[end][0] for points in curves.values() for end in (0, -1)]
    marks = [
        line([(at, metric.scaled(score)) for at, score in points], colour=SERIES[number % len(SERIES)],
             dash=DASHES[number // len(SERIES) % len(DASHES)], marker=MARKERS[number % len(MARKERS)], name=seed,
             tips=True)
        for number, (seed, points) in enumerate(curves.items())
    ]  # fmt: skip
    marks += [
        level(metric.scaled(score), (min(ends), max(ends)), dash=DASHES[1 + number % 4],
              name=baseline_words(method))
        for number, (method, score) in enumerate(baselines.items())
    ]  # fmt: skip
    said = "; ".join(f"{seed} {list_text([score for _, score in points], metric)}" for seed, points in curves.items())
    y = Axis(label=name, span=metric.scaled(LEAST_SPAN), logarithmic=metric.magnitudes)
    drawn = chart(marks, x=Axis(label=unit, whole=True), y=y,
                  says=f"{name} by {unit}: {said}. Baselines: {pairs_text(baselines, metric)}")  # fmt: skip
    yield Block(title=f"{name} by {unit}", chart=drawn)
