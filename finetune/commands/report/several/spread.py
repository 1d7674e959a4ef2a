"""Spread of the scores over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart, names_axis
from finetune.analysis.pages.marks import Mark, dots, line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import list_text, score_text
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.seeds import Summary, summarised
from finetune.runs.verdict import interval_of

ORDER = 10


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


def blocks(group: Sequence[RunFiles]) -> Iterator[Block]:
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
        chart=_chart(found),
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


def _chart(spreads: Sequence[Spread]) -> Markup:
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
