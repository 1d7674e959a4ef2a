"""The score over the number of training rows, of runs with several data sizes; would more labels help?"""

from collections.abc import Iterator

from finetune.analysis.data_sizes import FAILED, LearningCurve, ShareOfRows
from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import Coordinates, dots, intervals, line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.page_runs import PageRuns
from finetune.data.messages import so_many
from finetune.runs.record import RunRecord

ORDER = 20


def blocks(page: PageRuns) -> Iterator[Block]:
    """A curve for each setting that was run with several sizes."""
    yield from map(learning_curve, page.curves)


def learning_curve(curve: LearningCurve) -> Block:
    """The mean score by size with its interval, each seed, failed runs, and the best baseline at that size."""
    sizes = curve.sizes
    metric = sizes[0].verdict.metric
    points = [(float(size.rows), metric.scaled(size.verdict.score)) for size in sizes]
    seeds = [_point(size, record) for size in sizes for record in size.records]
    bad = [_point(size, record) for size in sizes for record in size.failed]
    ends = [_ends(size) for size in sizes if size.verdict.interval is not None]
    base = [(float(size.rows), metric.scaled(size.baseline)) for size in sizes if size.baseline is not None]
    marks = [intervals(ends, name="95 % interval")] if ends else []
    marks += [line(points, marker="circle", name="mean", tips=True)]
    if len(seeds) > len(sizes):
        marks.append(dots(seeds, faint=True, name="a seed", radius=2.4))
    if len(base) > 1:
        marks.append(line(base, colour="s2", dash="6 3", marker="square", name="best baseline", tips=True))
    if bad:  # on top: often they are at the baseline
        marks.append(dots(bad, shape="cross", colour="ink", name=FAILED, radius=4.5))
    texts = "; ".join(map(_in_words, sizes))
    return Block(
        title=f"Learning curve of {sizes[0].records[0].task}",
        note=f"{curve.answer} {curve.worth}".strip(),
        chart=chart(
            marks, x=Axis(label="training rows", low=0.0), y=Axis(label=curve.score), height=220,
            says=f"{curve.score} by training rows: {texts}",
        ),
        table=TableBlock(columns=curve.columns, rows=curve.cells),
    )  # fmt: skip


def _point(size: ShareOfRows, record: RunRecord) -> Coordinates:
    metric = size.verdict.metric
    return float(size.rows), metric.scaled(record.scores[size.verdict.split][metric.name])


def _in_words(size: ShareOfRows) -> str:
    failures = f", {len(size.failed)} of {so_many(len(size.records), 'run')} {FAILED}" * bool(size.failed)
    return f"{so_many(size.rows)} {size.verdict.metric.shown(size.verdict.score)}{failures}"


def _ends(size: ShareOfRows) -> tuple[Coordinates, Coordinates]:
    low, high = map(size.verdict.metric.scaled, size.verdict.interval or ())
    return (float(size.rows), low), (float(size.rows), high)
