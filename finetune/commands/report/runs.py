"""Blocks about runs: scores, training and settings of one; several in a table, their curve, and two compared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from finetune.analysis.compare import Comparison
from finetune.analysis.data_sizes import LearningCurve
from finetune.analysis.pages.svg import Axis, Mark, chart
from finetune.analysis.published import published_for
from finetune.commands.report.content import Block
from finetune.data.messages import so_many
from finetune.metrics.metric import plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.seeds import changed_settings, differing_settings, seed_words
from finetune.runs.settings import DEFAULTS, flat, lineage_words
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import cut

MOST_NOTES = 50  # notes of a run


def score_blocks(record: RunRecord) -> Iterator[Block]:
    """A block for each split: the run, its baselines, and published scores of the same model on the same rows."""
    for split, scores in record.scores.items():
        metrics = [record.metric(name) for name in plain_metrics(scores)]
        methods: dict[str, Mapping[str, float]] = {"this run": scores, **record.baselines.get(split, {})}
        for anchor in published_for(record, split):
            name = f"published: {anchor.source}"
            methods[name] = {**methods.get(name, {}), anchor.metric: anchor.score}
        cells = [
            [
                baseline_words(name),
                *(metric.shown(by_metric[metric.name]) if metric.name in by_metric else "" for metric in metrics),
            ]
            for name, by_metric in methods.items()
        ]
        margin = record.margins.get(split)
        note = so_many(record.rows.get(split, 0))
        note += "." if record.metrics else "; all scores are on a scale of 0 to 100."
        if margin is not None and margin.interval is not None and metrics[0].name == record.headline:
            cells[0][1] += f" ({metrics[0].ends(margin.interval)})"
            note += " In brackets: the 95 % interval."
        columns = ["method", *(metric.name for metric in metrics)]
        yield Block(title=f"Scores on {split}", note=note, columns=columns, cells=cells)


def training_block(record: RunRecord) -> Iterator[Block]:
    """Where there are several epochs, or parts of the updates: the losses of training and dev after each, and below
    them the headline score next to the best baseline.
    """
    epochs = record.epochs
    if len(epochs) < 2:
        return
    unit, places = record.scored_after
    metric, name, part = record.metric(record.headline), f"{record.first_split} {record.headline}", record.parts[0]
    losses = []
    for key, colour, shape, words in (("loss", "s1", "diamond", "training"), ("dev_loss", "s2", "square", "dev")):
        values = [(float(x), epoch.get(key)) for x, epoch in zip(places, epochs, strict=True)]
        if points := [(x, loss) for x, loss in values if loss is not None and np.isfinite(loss)]:
            losses.append(Mark(points=points, colour=colour, dash="none", shape=shape, name=words))
    points = [(float(x), metric.scaled(epoch["headline"])) for x, epoch in zip(places, epochs, strict=True)]
    scores = [Mark(points=points, colour="s3", dash="none", shape="circle", name=name)]
    if (best := record.best_baseline(record.first_split, metric.name)) is not None:
        ends = [(x, metric.scaled(best)) for x, _ in (points[0], points[-1])]
        scores.append(Mark(points=ends, colour="quiet", dash="6 3", name="best baseline"))
    yield Block(
        title="Loss and score",
        chart=chart(
            (losses, Axis(label="mean loss of a label", low=0.0), 170.0),
            (scores, Axis(label=name, span=metric.scaled(0.05), logarithmic=metric.magnitudes), 120.0),
            x=Axis(label=unit, whole=True, low=0.0),
            says=f"Training loss by {unit}: first {epochs[0]['loss']:.3f}, last {epochs[-1]['loss']:.3f}",
        ),
        note=f"{so_many(len(epochs), part)}; the weights of {part} {record.selected_epoch} were kept.",
    )


def settings_blocks(record: RunRecord) -> Iterator[Block]:
    """The settings that differ from the defaults, then facts from the record; and its notes."""
    changed = changed_settings([record]).items()
    cells = [[key, _value_text(value), _value_text(DEFAULTS.get(key))] for key, (value,) in changed]
    others = so_many(len({*DEFAULTS, *flat(record.recipe)} - {"task", "options"}) - len(cells), "other setting")
    facts = {
        "encoder": f"{record.model} ({record.weights[:10]})",
        **lineage_words(record.lineage),
        "hash of the data": record.data[:10],
        "device": f"{record.device}, {record.precision}, {so_many(record.processes, 'process')}",
        "time of training": f"{record.seconds.get('training', 0):,.0f} s",
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
    }
    yield Block(
        title="Settings and facts",
        note=f"{others} at the defaults of a recipe; for your own data finetune chooses some settings.",
        columns=["", "this run", "default"],
        cells=[*cells, *([name, cut(text), ""] for name, text in facts.items())],
        left=3,
    )
    if record.notes:
        yield Block(title="Notes", points=list(map(cut, record.notes[:MOST_NOTES])))


def _value_text(value: Any) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else cut(str(value))


def runs_block(records: Sequence[RunRecord]) -> Block:
    """Headline score and best baseline of each run."""
    cells = []
    for record in records:
        metric, split = record.metric(record.headline), record.first_split
        best = record.best_baseline(split, record.headline)
        names = [record.id, record.task, record.model, seed_words(record), f"{split} {record.headline}"]
        scores = [metric.shown(record.score), "" if best is None else metric.shown(best)]
        cells.append([*map(cut, names), f"{record.rows.get('train', 0):,}", *scores])
    columns = ["run", "task", "model", "seed", "metric", "training rows", "score", "best baseline"]
    return Block(title="Runs", columns=columns, cells=cells, left=5, wide=True)


def curve_block(curve: LearningCurve) -> Block:
    """The mean score by training rows, and the best baseline at that size."""
    title = f"Learning curve of {curve.sizes[0].records[0].task}"
    return Block(title=title, note=curve.answer, columns=curve.columns, cells=curve.cells)


def comparison_blocks(comparison: Comparison, sides: Sequence[Sequence[RunRecord]]) -> Iterator[Block]:
    """The runs and settings of each side, and the difference in each metric."""
    settings = differing_settings([side[0] for side in sides])
    cells = [["runs", *(", ".join(record.id for record in side) for side in sides)]]
    for key in dict.fromkeys(key for values in settings for key in values):
        cells.append([key, *(cut(str(values.get(key, "–"))) for values in settings)])
    yield Block(title="A and B", columns=["", "A", "B"], cells=cells, left=3)
    note = f"{comparison.counted} of {comparison.split}. {comparison.tests}"
    yield Block(title="Difference", note=note, columns=comparison.columns, cells=comparison.cells)


def difference_words(comparison: Comparison) -> str:
    """`B is better than A in dev f1: B - A is +1.2 points (95 % +0.3 to +2.1, p 0.01).`"""
    name, first = next(iter(comparison.differences.items()))
    metric = comparison.metrics[name]
    if not first.value:
        return f"A and B have the same {comparison.split} {name}."
    unit = " points" if metric.scale == 100 else ""
    word = "better" if metric.rank(first.b) > metric.rank(first.a) else "worse"
    between = f"95 % {metric.signed_ends(first.interval)}, " if first.interval else ""
    chance = ", which may be chance" if first.p > 0.05 else ""
    text = f"B is {word} than A in {comparison.split} {name}{chance}: B - A is {metric.signed(first.value)}{unit}"
    return f"{text} ({between}p {first.p:.2g})."
