"""The score over the number of training rows, of runs with several data sizes; would more labels help?"""

from finetune.analysis.data_sizes import LearningCurve, Size
from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.chart import Axis, chart
from finetune.analysis.report.marks import Point, dots, intervals, line
from finetune.data.messages import so_many


def learning_curve(curve: LearningCurve) -> Block:
    """The mean score by size with its interval, each seed, and the best baseline at that size."""
    sizes = curve.sizes
    metric, split = sizes[0].verdict.metric, sizes[0].verdict.split
    points = [(float(size.rows), metric.scaled(size.verdict.score)) for size in sizes]
    seeds = [
        (float(size.rows), metric.scaled(record.scores[split][metric.name]))
        for size in sizes
        for record in size.records
    ]
    ends = [_ends(size) for size in sizes if size.verdict.interval is not None]
    base = [(float(size.rows), metric.scaled(size.baseline)) for size in sizes if size.baseline is not None]
    marks = [intervals(ends, name="95 % interval"), line(points, marker="circle", name="mean", tips=True)]
    if len(seeds) > len(sizes):
        marks.append(dots(seeds, faint=True, name="a seed", radius=2.4))
    if len(base) > 1:
        marks.append(line(base, colour="s2", dash="6 3", marker="square", name="best baseline", tips=True))
    texts = "; ".join(f"{so_many(size.rows)} {metric.shown(size.verdict.score)}" for size in sizes)
    return Block(
        title="Learning curve",
        note=curve.answer,
        chart=chart(
            marks, x=Axis(label="training rows", low=0.0), y=Axis(label=curve.score), height=220,
            says=f"{curve.score} by training rows: {texts}",
        ),
        table=Table(columns=curve.columns, rows=curve.cells),
    )  # fmt: skip


def _ends(size: Size) -> tuple[Point, Point]:
    low, high = map(size.verdict.metric.scaled, size.verdict.interval or ())
    return (float(size.rows), low), (float(size.rows), high)
