"""The score over the number of training rows, of runs with several data sizes; would more labels help?"""

from collections.abc import Sequence
from dataclasses import dataclass

from finetune.analysis.data_sizes import Size, curves_of, last_gain, more_labels
from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.chart import Axis, chart
from finetune.analysis.report.marks import Point, dots, intervals, line
from finetune.analysis.report.run_files import RunFiles
from finetune.data.messages import so_many
from finetune.runs.data_sizes import percent


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The sizes of one setting, and whether more labels would help, in a sentence."""

    sizes: Sequence[Size]
    answer: str


def curves_in(runs: Sequence[RunFiles]) -> list[LearningCurve]:
    """The curve of each setting that was run with several sizes."""
    folders = {one.record.id: one.folder for one in runs}
    return [
        LearningCurve(sizes=sizes, answer=more_labels(last_gain(sizes, folders)))
        for sizes in curves_of([one.record for one in runs])
    ]


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
            marks, x=Axis(label="training rows", low=0.0), y=Axis(label=f"{split} {metric.name}"), height=220,
            says=f"{split} {metric.name} by training rows: {texts}",
        ),
        table=Table(
            columns=["size", "rows", metric.name, "95 % interval", "best baseline"],
            rows=[_line(size) for size in sizes],
        ),
    )  # fmt: skip


def _ends(size: Size) -> tuple[Point, Point]:
    low, high = map(size.verdict.metric.scaled, size.verdict.interval or ())
    return (float(size.rows), low), (float(size.rows), high)


def _line(size: Size) -> list[str]:
    shown, found = size.verdict.metric.shown, size.verdict
    interval = "" if found.interval is None else " to ".join(map(shown, found.interval))
    base = "" if size.baseline is None else shown(size.baseline)
    return [percent(size.share), f"{size.rows:,}", shown(found.score), interval, base]
