"""How a run was trained: its loss by update, and its score by epoch or update; the score also of several seeds."""

from collections.abc import Iterator, Sequence

import numpy as np

from finetune.analysis.pages.svg import DASHES, MARKERS, SERIES, Axis, Mark, chart, level, line
from finetune.commands.report.blocks import Block
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import list_text, pairs_text
from finetune.data.messages import so_many
from finetune.runs.seeds import seed_words
from finetune.runs.verdict import baseline_words

LEAST_SPAN = 0.05  # of the axis of scores, of their scale
MOST_CURVES = 6
DRAWN = 150  # points of a drawn curve


def loss_block(run: RunFiles) -> Iterator[Block]:
    """The curves of training and dev, and the epoch whose weights were kept, where there are several losses."""
    epochs, (part, _) = run.record.epochs, run.record.parts
    updates = [(float(at), loss) for at, loss in run.losses if np.isfinite(loss)]
    by_update = len(updates) > 1
    unit, step = ("update", updates[-1][0] / max(1, len(epochs))) if by_update else ("epoch", 1.0)
    points = _thinned(updates) if by_update else [(float(epoch["epoch"]), epoch["loss"]) for epoch in epochs]
    if len(points) < 2:
        return
    losses = [loss if loss is not None and np.isfinite(loss) else None for loss in (e.get("dev_loss") for e in epochs)]
    dev = [(step * epoch["epoch"], loss) for epoch, loss in zip(epochs, losses, strict=True) if loss is not None]
    note = f"{so_many(len(epochs), part)}; the weights of {part} {run.record.selected_epoch} were kept."
    least = min(range(len(dev)), key=lambda at: dev[at][1], default=0)
    if len(dev) == len(epochs) > 1 and dev[-1][1] > dev[least][1]:
        metric = run.record.metric(run.record.headline)
        best = max(range(len(epochs)), key=lambda at: metric.rank(epochs[at]["headline"])) + 1
        note += f" The loss on dev was lowest after {part} {least + 1}; the score was best after {part} {best}."
    marks: list[Mark] = [line(points, name="training")]
    if dev:
        marks.append(line(dev, colour="s2", marker="square", name=f"dev, after each {part}", tips=True))
    said = f"Training loss by {unit}: first {points[0][1]:.3f}, last {points[-1][1]:.3f}"
    said += f"; on dev{''.join(f', {loss:.3f}' for _, loss in dev)}" if dev else ""
    drawn = chart(
        marks, x=Axis(label=unit, whole=True), y=Axis(label="mean loss of a label", low=0.0), says=said
    )  # fmt: skip
    yield Block(title="Loss", chart=drawn, note=note)


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most DRAWN points, each the mean of about as many neighbours."""
    parts = np.array_split(np.asarray(points, float), min(DRAWN, len(points)))
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in parts]


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
