"""Scores of a split, next to baselines and published scores; the first metric as a chart."""

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart, names_axis
from finetune.analysis.pages.marks import bars, intervals, words
from finetune.analysis.published import published_for
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import pairs_text, score_text
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import ScoreInterval
from finetune.runs.verdict import baseline_words

ORDER = 10
OURS = "this run"


def blocks(run: RunFiles) -> Iterator[Block]:
    """One block per split."""
    for split, scores in run.record.scores.items():
        yield _block(run.record, split, scores)


def _block(record: RunRecord, split: str, scores: Mapping[str, float]) -> Block:
    metrics = [record.metric(name) for name in plain_metrics(scores)]
    methods: dict[str, Mapping[str, float]] = {OURS: scores, **record.baselines.get(split, {})}
    for anchor in published_for(record, split):
        name = f"published: {anchor.source}"
        methods[name] = {**methods.get(name, {}), anchor.metric: anchor.score}
    first = metrics[0]
    chosen = {name: given[first.name] for name, given in methods.items() if first.name in given}
    interval = record.margins[split].interval if split in record.margins and first.name == record.headline else None
    scale = "" if record.metrics else "; all scores are on a scale of 0 to 100"
    return Block(
        title=f"Scores on {split}",
        note=f"{so_many(record.rows.get(split, 0))}{scale}."
        + " The line is the 95 % interval." * (interval is not None),
        chart=_chart(chosen, f"{split} {first.name}", first, interval) if len(chosen) > 1 else None,
        table=TableBlock(
            columns=["method", *(metric.name for metric in metrics)],
            rows=[
                [baseline_words(name), *(score_text(given.get(metric.name), metric) for metric in metrics)]
                for name, given in methods.items()
            ],
            strong=[0],
        ),
    )


def _chart(scores: Mapping[str, float], title: str, metric: Metric, interval: ScoreInterval | None) -> Markup:
    """A bar for the run, first and coloured, and for each method that it is compared with."""
    values = [metric.scaled(score) for score in scores.values()]
    boxes = [(0.0, -at + 0.3, value, -at - 0.3) for at, value in enumerate(values)]
    ends = [metric.scaled(end) for end in interval or ()]
    marks = [
        bars(boxes[:1]),
        bars(boxes[1:], colour="quiet"),
        words([(max([value, *ends] if not at else [value]), -at) for at, value in enumerate(values)],
              list(map(metric.shown, scores.values()))),
    ]  # fmt: skip
    if ends:
        marks.append(intervals([((min(ends), 0.0), (max(ends), 0.0))], colour="ink"))
    return chart(
        marks, x=Axis(label=title, margin=0.16, high=None, low=None if min(values) < 0 else 0.0),
        y=names_axis([baseline_words(name) for name in scores]), height=30.0 * len(scores),
        says=f"{title}: {pairs_text(scores, metric)}",
    )  # fmt: skip
