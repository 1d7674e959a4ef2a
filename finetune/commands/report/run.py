"""Blocks about a run: its scores next to others, how it was trained, its settings and limits."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from finetune.analysis.limits import about_classes, about_labels, about_rows
from finetune.analysis.pages.svg import Axis, level, line, stacked
from finetune.analysis.published import published_for
from finetune.commands.report.content import Block, RunFiles, score_text
from finetune.data.messages import so_many
from finetune.metrics.metric import plain_metrics
from finetune.runs.lineage import lineage_words
from finetune.runs.seeds import settings_of
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import cut

MOST_NOTES = 50  # notes of a run


def score_blocks(run: RunFiles) -> Iterator[Block]:
    """One block per split: the run, its baselines, and published scores of the same model on the same rows."""
    record = run.record
    for split, scores in record.scores.items():
        metrics = [record.metric(name) for name in plain_metrics(scores)]
        methods: dict[str, Mapping[str, float]] = {"this run": scores, **record.baselines.get(split, {})}
        for anchor in published_for(record, split):
            name = f"published: {anchor.source}"
            methods[name] = {**methods.get(name, {}), anchor.metric: anchor.score}
        cells = [
            [baseline_words(name), *(score_text(values.get(metric.name), metric) for metric in metrics)]
            for name, values in methods.items()
        ]
        first, margin = metrics[0], record.margins.get(split)
        if margin is not None and margin.interval is not None and first.name == record.headline:
            cells[0][1] += f" ({' to '.join(map(first.shown, margin.interval))})"
        scale = "" if record.metrics else "; all scores are on a scale of 0 to 100"
        yield Block(
            title=f"Scores on {split}",
            note=f"{so_many(record.rows.get(split, 0))}{scale}."
            + " In brackets: the 95 % interval." * ("(" in cells[0][1]),
            columns=["method", *(metric.name for metric in metrics)],
            cells=cells,
            bars=[values.get(first.name, 0.0) for values in methods.values()] if first.range == (0.0, 1.0) else (),
        )


def training_block(run: RunFiles) -> Iterator[Block]:
    """Where there are several epochs, or parts of the updates: the losses of training and dev after each, and below
    them the headline score next to the best baseline.
    """
    record, epochs = run.record, run.record.epochs
    if len(epochs) < 2:
        return
    unit, places = record.scored_after
    metric, name, part = record.metric(record.headline), f"{record.first_split} {record.headline}", record.parts[0]
    at = [float(place) for place in places]
    losses = [(x, epoch["loss"]) for x, epoch in zip(at, epochs, strict=True)]
    dev = [(x, loss) for x, epoch in zip(at, epochs, strict=True) if (loss := epoch.get("dev_loss")) is not None]
    marks = [
        line([point for point in points if np.isfinite(point[1])], colour=colour, marker=marker, name=words, tips=True)
        for points, colour, marker, words in ((losses, "s1", "diamond", "training"), (dev, "s2", "square", "dev"))
        if points
    ]
    points = [(x, metric.scaled(epoch["headline"])) for x, epoch in zip(at, epochs, strict=True)]
    scores = [line(points, colour="s3", marker="circle", name=name, tips=True)]
    if (best := record.best_baseline(record.first_split, metric.name)) is not None:
        scores.append(level(metric.scaled(best), (at[0], at[-1]), name="best baseline"))
    yield Block(
        title="Loss and score",
        chart=stacked(
            marks, scores, x=Axis(label=unit, whole=True, low=0.0), below=120.0,
            ys=[
                Axis(label="mean loss of a label", low=0.0),
                Axis(label=name, span=metric.scaled(0.05), logarithmic=metric.magnitudes),
            ],
            says=f"Training loss by {unit}: first {losses[0][1]:.3f}, last {losses[-1][1]:.3f}",
        ),
        note=f"{so_many(len(epochs), part)}; the weights of {part} {record.selected_epoch} were kept.",
    )  # fmt: skip


def settings_block(run: RunFiles) -> Iterator[Block]:
    """The settings that differ from the defaults, then facts from the record."""
    record, settings = run.record, settings_of([run.record])
    trained, weights = record.trained_of_all
    cells = [[one.key, _value_text(one.values[0]), _value_text(one.default)] for one in settings if one.changed]
    note = f"{so_many(len(settings) - len(cells), 'other setting')} at the defaults of a recipe; for your own data"
    facts = {
        "weights at the start": f"{record.model} ({record.weights[:10]})",
        **lineage_words(record.lineage),
        "hash of the data": record.data[:10],
        "options of the task": ", ".join(f"{name} {_value_text(value)}" for name, value in record.options.items()),
        "device": f"{record.device}, {record.precision}, {so_many(record.processes, 'process')}",
        "time of training": f"{record.seconds.get('training', 0):,.0f} s, {record.examples_per_second:.1f} rows/s",
        "trained weights": f"{trained:,} of {weights:,}" if weights else "",
        "peak memory": f"{record.peak_memory_bytes / 2**30:.2f} GiB",
        "commit": record.git_commit or "",
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
    }
    cells += [[name, cut(text), ""] for name, text in facts.items() if text]
    note += " finetune chooses some settings."
    yield Block(title="Settings and facts", note=note, columns=["", "this run", "default"], cells=cells, left=3)


def _value_text(value: Any) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else cut(str(value))


def limits_block(run: RunFiles) -> Iterator[Block]:
    """One sentence each; the run's notes last, such as those on truncated rows."""
    points = [*about_rows(run.record), *about_labels(run.record)]
    for split, table in [*run.tables.items()][:1]:
        points += about_classes({} if table is None else table.classes, split)
    points += map(cut, run.record.notes[:MOST_NOTES])
    if points:
        yield Block(title="Limits and notes", points=points)
