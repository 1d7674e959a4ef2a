"""Scores of a run next to baselines, published scores and models that it is compared with; their spread over seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.analysis.pages.svg import Axis, Mark, bars, chart, dots, intervals, line, names_axis, words
from finetune.analysis.published import published_for
from finetune.analysis.recorded_models import COLUMNS, SIZE, compared_cells, old_and_new
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import NAME, list_text, pairs_text, score_text
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import ScoreInterval
from finetune.runs.seeds import Summary, summarised
from finetune.runs.verdict import baseline_words, interval_of
from finetune.task_types.marked_text import cut

OURS = "this run"


def score_blocks(run: RunFiles) -> Iterator[Block]:
    """One block per split."""
    for split, scores in run.record.scores.items():
        yield _of_split(run.record, split, scores)


def _of_split(record: RunRecord, split: str, scores: Mapping[str, float]) -> Block:
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
        chart=_score_chart(chosen, f"{split} {first.name}", first, interval) if len(chosen) > 1 else None,
        table=TableBlock(
            columns=["method", *(metric.name for metric in metrics)],
            rows=[
                [baseline_words(name), *(score_text(given.get(metric.name), metric) for metric in metrics)]
                for name, given in methods.items()
            ],
            strong=[0],
        ),
    )


def _score_chart(scores: Mapping[str, float], title: str, metric: Metric, interval: ScoreInterval | None) -> Markup:
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


MOST_LINES = 60


def old_and_new_block(run: RunFiles) -> Iterator[Block]:
    """The sentence and the F1 of each old label; none for other runs."""
    found = old_and_new(run.record)
    if found is None:
        return
    lines = [[cut(name, NAME), *cells] for name, *cells in found.cells[:MOST_LINES]]
    table = TableBlock(columns=list(COLUMNS), rows=lines, sorts=True) if lines else None
    yield Block(
        title="Old model and new", note=f"{found.sentence}. F1 by label:" if lines else found.sentence, table=table
    )


def compared_block(run: RunFiles) -> Iterator[Block]:
    """A student next to its teacher and itself without one; none for other runs."""
    record = run.record
    if record.compared:
        columns = ["split", "model", "runs", *plain_metrics(record.scores[record.first_split]), *SIZE]
        yield Block(title="Compared", table=TableBlock(columns=columns, rows=compared_cells(record)), wide=True)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """One metric over several seeds; `baseline` is the best baseline's score, None without baselines."""

    split: str
    metric: Metric
    scores: Sequence[float]
    baseline: float | None

    @property
    def name(self) -> str:
        """Split and metric."""
        return f"{self.split} {self.metric.name}"

    @property
    def summary(self) -> Summary:
        """Mean, standard deviation and interval."""
        return summarised(self.scores, self.metric)


def spread_block(group: Sequence[RunFiles]) -> Iterator[Block]:
    """Mean, standard deviation and interval of each metric."""
    found = _spreads(group)
    rows = []
    for one in found:
        each = one.summary
        ends = interval_of([run.record for run in group], one.split, one.metric.name)
        interval = " to ".join(map(one.metric.shown, ends or ()))
        values = (each.mean, each.sd, min(one.scores, key=one.metric.rank), each.best, one.baseline)
        mean, sd, *others = (score_text(value, one.metric) for value in values)
        rows.append([one.name, mean, sd, interval, *others])
    yield Block(
        title="Spread over the seeds",
        note=f"{len(group)} runs that differ only in their seeds. sd is the sample standard deviation; "
        "the interval is the verdict's, of the headline's mean: over rows and seeds.",
        chart=_spread_chart(found),
        table=TableBlock(columns=["score", "mean", "sd", "95 % interval", "worst", "best", "best baseline"], rows=rows),
    )


def _spreads(group: Sequence[RunFiles]) -> list[Spread]:
    """Every metric of a group, except those of single classes."""
    first = group[0].record
    return [
        Spread(
            split=split,
            metric=first.metric(name),
            scores=[run.record.scores[split][name] for run in group],
            baseline=first.best_baseline(split, name),
        )
        for split, scores in first.scores.items()
        for name in plain_metrics(scores)
    ]


def _spread_chart(spreads: Sequence[Spread]) -> Markup:
    """Each seed's score as a dot, their mean as a line, the best baseline as a cross."""
    seeds, means, baselines = list[tuple[float, float]](), list[Mark](), list[tuple[float, float]]()
    for place, one in enumerate(spreads):
        scaled, count = one.metric.scaled, len(one.scores)
        seeds += [
            (scaled(score), -place + 0.3 * (number / max(1, count - 1) - 0.5))
            for number, score in enumerate(one.scores)
        ]
        mean = scaled(one.summary.mean)
        means.append(line([(mean, -place - 0.32), (mean, -place + 0.32)], colour="ink", name="mean"))
        if one.baseline is not None:
            baselines.append((scaled(one.baseline), -place))
    marks = [dots(seeds, name="a seed"), *means]
    if baselines:
        marks.append(dots(baselines, colour="s2", shape="cross", name="best baseline", radius=4))
    said = "; ".join(f"{one.name} {list_text(one.scores, one.metric)}" for one in spreads)
    return chart(
        marks, x=Axis(margin=0.08), y=names_axis([one.name for one in spreads]), height=34.0 * len(spreads) + 6,
        says=f"Scores by seed: {said}",
    )  # fmt: skip
