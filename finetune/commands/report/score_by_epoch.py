"""The headline score by epoch, or by update of a run whose length is in updates; of one run or of several seeds."""

from collections.abc import Mapping, Sequence

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import MARKERS, Coordinates, level, line
from finetune.analysis.pages.svg import DASHES, SERIES
from finetune.commands.report.blocks import Block
from finetune.commands.report.text import list_text, pairs_text
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord
from finetune.runs.verdict import baseline_words

LEAST_SPAN = 0.05  # least span of a score axis, of the scale


def score_by_epoch(records: Mapping[str, RunRecord]) -> Block:
    """A named curve per record, and the first record's baselines as horizontal lines."""
    first = next(iter(records.values()))
    split = first.first_split
    curves = {
        name: list(zip(record.scored_after[1], (epoch["headline"] for epoch in record.epochs), strict=True))
        for name, record in records.items()
    }
    baselines = {name: scores[first.headline] for name, scores in first.baselines.get(split, {}).items()}
    axes = first.scored_after[0], f"{split} {first.headline}"
    return _block(curves, baselines, axes, first.metric(first.headline))


def _block(
    curves: Mapping[str, Sequence[Coordinates]], baselines: Mapping[str, float], axes: tuple[str, str], metric: Metric
) -> Block:
    """A line chart of scores of a metric; `axes` are the names of what is drawn across and up."""
    ends = [points[end][0] for points in curves.values() for end in (0, -1)]
    marks = [
        line(
            [(at, metric.scaled(score)) for at, score in points],
            colour=SERIES[number % len(SERIES)], dash=DASHES[number // len(SERIES) % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)], name=label, tips=True,
        )
        for number, (label, points) in enumerate(curves.items())
    ]  # fmt: skip
    marks += [
        level(
            metric.scaled(score),
            (min(ends), max(ends)),
            dash=DASHES[1 + number % 4],
            name=baseline_words(method),
        )
        for number, (method, score) in enumerate(baselines.items())
    ]  # fmt: skip
    said = "; ".join(f"{label} {list_text([score for _, score in points], metric)}" for label, points in curves.items())
    unit, name = axes
    return Block(
        title=f"{name} by {unit}",
        chart=chart(
            marks, x=Axis(label=unit, whole=True),
            y=Axis(label=name, span=metric.scaled(LEAST_SPAN), logarithmic=metric.magnitudes),
            says=f"{name} by {unit}: {said}. Baselines: {pairs_text(baselines, metric)}",
        ),
    )  # fmt: skip
