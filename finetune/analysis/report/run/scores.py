"""Scores of a split, next to baselines and published scores; the first metric as a bar chart."""

from collections.abc import Iterator, Mapping

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from finetune.analysis.published import published_for
from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.run_files import RunFiles
from finetune.analysis.report.svg import INK, NAME, ONE, QUIET, SURFACE, axes_of, drawn
from finetune.analysis.report.text import pairs_text, score_text
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord
from finetune.task_types.marked_text import cut

ORDER = 10


def blocks(run: RunFiles) -> Iterator[Block]:
    """One block per split."""
    for split, scores in run.record.scores.items():
        yield _block(run.record, split, scores)


def _block(record: RunRecord, split: str, scores: Mapping[str, float]) -> Block:
    metrics = [record.metric(name) for name in plain_metrics(scores)]
    methods: dict[str, Mapping[str, float]] = {"this run": scores, **record.baselines.get(split, {})}
    for anchor in published_for(record, split):
        name = f"published: {anchor.source}"
        methods[name] = {**methods.get(name, {}), anchor.metric: anchor.score}
    first = metrics[0]
    chosen = {name: given[first.name] for name, given in methods.items() if first.name in given}
    scale = "" if record.metrics else "; all scores are on a scale of 0 to 100"
    return Block(
        title=f"Scores on {split}",
        note=f"{record.rows.get(split, 0):,} rows{scale}.",
        chart=_chart(chosen, f"{split} {first.name}", first),
        table=Table(
            columns=["method", *(metric.name for metric in metrics)],
            rows=[
                [name, *(score_text(given.get(metric.name), metric) for metric in metrics)]
                for name, given in methods.items()
            ],
            strong=[0],
        ),
    )


def _chart(scores: Mapping[str, float], title: str, metric: Metric) -> Markup:
    """A bar for the run (first, solid) and each method that it is compared with (hatched)."""
    names, values = list(scores), [*map(metric.scaled, scores.values())]

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=title)
        positions = np.arange(len(names))[::-1]
        bars = axes.barh(positions, values, height=0.6, facecolor=SURFACE, edgecolor=QUIET, hatch="////")
        bars[0].set(facecolor=ONE, edgecolor=ONE, hatch="")
        axes.bar_label(bars, labels=[f"{value:.1f}" for value in values], padding=4, color=INK)
        axes.set_yticks(positions, [cut(name, NAME) for name in names])
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.14)

    return drawn(draw, says=f"{title}: {pairs_text(scores, metric)}", height=70 + 30 * len(names))
