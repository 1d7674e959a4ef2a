"""The headline score by epoch, of one run or of several seeds."""

from collections.abc import Mapping

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.chart import Axis, chart
from finetune.analysis.report.marks import MARKERS, level, line
from finetune.analysis.report.svg import DASHES, SERIES
from finetune.analysis.report.text import list_text, pairs_text
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord
from finetune.runs.verdict import baseline_words

LEAST = 0.05  # least span of a score axis, of the scale


def score_by_epoch(records: Mapping[str, RunRecord]) -> Block:
    """A named curve per record, and the first record's baselines as horizontal lines."""
    first = next(iter(records.values()))
    split = first.first_split
    curves = {name: [epoch["headline"] for epoch in record.epochs] for name, record in records.items()}
    baselines = {name: scores[first.headline] for name, scores in first.baselines.get(split, {}).items()}
    return _block(curves, baselines, f"{split} {first.headline}", first.metric(first.headline))


def _block(curves: Mapping[str, list[float]], baselines: Mapping[str, float], name: str, metric: Metric) -> Block:
    """A line chart of scores of a metric."""
    most = max(map(len, curves.values()))
    marks = [
        line(
            [(epoch, metric.scaled(score)) for epoch, score in enumerate(scores, start=1)],
            colour=SERIES[number % len(SERIES)], dash=DASHES[number // len(SERIES) % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)], name=label, tips=True,
        )
        for number, (label, scores) in enumerate(curves.items())
    ]  # fmt: skip
    marks += [
        level(metric.scaled(score), (1, most), dash=DASHES[1 + number % 4], name=baseline_words(method))
        for number, (method, score) in enumerate(baselines.items())
    ]
    said = "; ".join(f"{label} {list_text(scores, metric)}" for label, scores in curves.items())
    return Block(
        title=f"{name} by epoch",
        chart=chart(
            marks, x=Axis(label="epoch", whole=True), y=Axis(label=name, span=metric.scaled(LEAST)),
            says=f"{name} by epoch: {said}. Baselines: {pairs_text(baselines, metric)}",
        ),
    )  # fmt: skip
