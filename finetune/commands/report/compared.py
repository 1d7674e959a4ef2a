"""Blocks about several runs: a line each, seeds, learning curves, two settings compared, or three and more."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from finetune.analysis.compare import Comparison, compare_runs
from finetune.analysis.data_sizes import LearningCurve, learning_curves
from finetune.analysis.leaderboard import leaderboard
from finetune.analysis.pages.svg import Axis, chart, line
from finetune.commands.report.content import Block, RunFiles, score_text
from finetune.errors import UserError
from finetune.runs.record import RunRecord
from finetune.runs.seeds import (
    differing_settings,
    groups,
    of_largest_sizes,
    seed_words,
)
from finetune.task_types.marked_text import cut

SETTINGS_NEEDED = 3  # of two settings the page has a comparison of A and B

Group = Sequence[RunFiles]  # runs that differ only in seeds


@dataclass(frozen=True, kw_only=True)
class PageRuns:
    """The runs in order, those together that differ only in seeds, the learning curves, and the comparison of A and B.

    A learning curve's sizes are not compared as A and B.
    """

    runs: Sequence[RunFiles]
    groups: Sequence[Group]
    curves: Sequence[LearningCurve]
    comparison: Comparison | None


def page_runs(runs: Sequence[RunFiles]) -> PageRuns:
    """Groups, curves and comparison of runs: None where there are not two groups of one task, their rows differ,
    predictions are missing, or the task is unknown.
    """
    by_record, records = {id(run.record): run for run in runs}, [run.record for run in runs]
    grouped = [[by_record[id(record)] for record in group] for group in groups(records)]
    curves = learning_curves(records, {run.record.id: run.folder for run in runs})
    comparison = None
    if not curves and len(grouped) == 2 and len({record.task for record in records}) == 1:
        with suppress(UserError, KeyError):
            comparison = compare_runs(*([run.folder for run in group] for group in grouped))
    return PageRuns(runs=runs, groups=grouped, curves=curves, comparison=comparison)


def blocks_of_all(page: PageRuns) -> Iterator[Block]:
    """What is the same for all runs of a page, which are several."""
    if page.comparison is not None:
        yield from _comparison_blocks(page, page.comparison)
    yield from _boards(page)
    yield from map(curve_block, page.curves)
    yield _runs_block(page)


def sentence(comparison: Comparison) -> str:
    """`B is better than A in dev f1: B - A is +1.2 points (95 % +0.3 to +2.1, p 0.01).`"""
    name, first = next(iter(comparison.differences.items()))
    metric = comparison.metrics[name]
    if not first.value:
        return f"A and B have the same {comparison.split} {name}."
    unit = " points" if metric.scale == 100 else ""
    word = "better" if metric.rank(first.b) > metric.rank(first.a) else "worse"
    between = f"95 % {' to '.join(map(metric.signed, first.interval))}, " if first.interval else ""
    chance = ", which may be chance" if first.p > 0.05 else ""
    text = f"B is {word} than A in {comparison.split} {name}{chance}: B - A is {metric.signed(first.value)}{unit}"
    return f"{text} ({between}p {first.p:.2g})."


def _comparison_blocks(page: PageRuns, comparison: Comparison) -> Iterator[Block]:
    """The runs and settings of each side, and the difference in each metric."""
    settings = differing_settings([side[0].record for side in page.groups])
    cells = [["runs", *(", ".join(run.record.id for run in side) for side in page.groups)]]
    for key in dict.fromkeys(key for values in settings for key in values):
        cells.append([key, *(cut(str(values.get(key, "–"))) for values in settings)])
    yield Block(title="A and B", columns=["", "A", "B"], cells=cells, left=3)
    yield Block(
        title="Difference",
        note=f"{comparison.counted} of {comparison.split}. {comparison.tests}",
        columns=comparison.columns,
        cells=comparison.cells,
    )


def _boards(page: PageRuns) -> Iterator[Block]:
    """A leaderboard for each task with SETTINGS_NEEDED settings; of several sizes the largest counts."""
    records = of_largest_sizes([run.record for run in page.runs])
    for task in dict.fromkeys(record.task for record in records):
        form = leaderboard([record for record in records if record.task == task])
        if len(form.rows) >= SETTINGS_NEEDED:
            yield Block(
                title=f"Settings of {task} compared",
                note=" ".join(f"{note[:1].upper()}{note[1:]}." for note in form.notes),
                hint="A click on a column's name sorts by it.",
                columns=form.columns,
                cells=form.rows,
                left=len(form.columns) - len(form.right),
                sorts=True,
                wide=True,
            )


def curve_block(curve: LearningCurve) -> Block:
    """The mean score by training rows, and the best baseline at that size."""
    metric, sizes = curve.sizes[0].verdict.metric, curve.sizes
    means = [(float(size.rows), metric.scaled(size.verdict.score)) for size in sizes]
    base = [
        (float(size.rows), metric.scaled(best)) for size in sizes if (best := size.verdict.baseline_score) is not None
    ]
    marks = [line(means, marker="circle", name="mean", tips=True)]
    if base:
        marks.append(line(base, colour="s2", dash="6 3", marker="square", name="best baseline", tips=True))
    return Block(
        title=f"Learning curve of {sizes[0].records[0].task}",
        note=curve.answer,
        chart=chart(marks, x=Axis(label="training rows", low=0.0), y=Axis(label=curve.score), says=curve.answer),
        columns=curve.columns,
        cells=curve.cells,
    )


def _runs_block(page: PageRuns) -> Block:
    """Headline score and best baseline of each run."""

    def line_of(record: RunRecord) -> list[str]:
        metric = record.metric(record.headline)
        best = record.best_baseline(record.first_split, record.headline)
        names = [record.id, record.task, record.model, seed_words(record), f"{record.first_split} {record.headline}"]
        rows = f"{record.rows.get('train', 0):,}"
        return [*map(cut, names), rows, metric.shown(record.score), score_text(best, metric)]

    columns = ["run", "task", "model", "seed", "metric", "training rows", "score", "best baseline"]
    return Block(title="Runs", columns=columns, cells=[line_of(run.record) for run in page.runs], left=5, wide=True)
