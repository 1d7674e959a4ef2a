"""Spread of the scores over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.run_files import RunFiles
from finetune.analysis.report.svg import INK, NAME, ONE, TWO, axes_of, drawn
from finetune.analysis.report.text import list_text, score_text
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.seeds import Summary, summarised
from finetune.task_types.marked_text import cut

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
        interval = " to ".join(map(one.metric.shown, each.interval or ()))
        ends = (min(one.scores, key=one.metric.rank), each.best, one.baseline)
        mean, sd, *others = (score_text(value, one.metric) for value in (each.mean, each.sd, *ends))
        rows.append([one.name, mean, sd, interval, *others])
    yield Block(
        title="Spread over the seeds",
        note=f"{len(group)} runs that differ only in their seeds. sd is the sample standard deviation; "
        "the interval is of the mean (Student's t).",
        chart=_chart(found),
        table=Table(columns=["score", "mean", "sd", "95 % interval", "worst", "best", "best baseline"], rows=rows),
    )


def _spreads(group: Sequence[RunFiles]) -> list[Spread]:
    """Every metric of a group, except those of single classes."""
    first = group[0].record
    return [
        Spread(
            split=split,
            metric=first.metric(name),
            scores=[run.record.scores[split][name] for run in group],
            baseline=max(
                (given[name] for given in first.baselines.get(split, {}).values()),
                key=first.metric(name).rank,
                default=None,
            ),
        )
        for split, scores in first.scores.items()
        for name in plain_metrics(scores)
    ]


def _chart(spreads: Sequence[Spread]) -> Markup:
    """Each seed's score as a dot, their mean as a line, the best baseline as a cross."""

    def draw(figure: Figure) -> None:
        axes = axes_of(figure)
        positions = np.arange(len(spreads))[::-1]
        for position, one in zip(positions, spreads, strict=True):
            shifts = np.linspace(-0.15, 0.15, len(one.scores))
            scaled = one.metric.scaled
            axes.plot([*map(scaled, one.scores)], position + shifts, "o", color=ONE, markersize=6, label="a seed")
            mean = scaled(one.summary.mean)
            axes.plot([mean] * 2, [position - 0.3, position + 0.3], color=INK, linewidth=2, label="mean")
            if one.baseline is not None:
                axes.plot(scaled(one.baseline), position, "X", color=TWO, markersize=9, label="best baseline")
        axes.set_yticks(positions, [cut(one.name, NAME) for one in spreads])
        axes.set_ylim(-0.6, len(spreads) - 0.4)
        handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)

    scores = "; ".join(f"{one.name} {list_text(one.scores, one.metric)}" for one in spreads)
    return drawn(draw, says=f"Scores by seed: {scores}", height=80 + 34 * len(spreads))
