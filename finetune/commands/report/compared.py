"""Blocks about several runs: a line each, seeds, learning curves, two settings compared, or three and more."""

from collections.abc import Iterator, Sequence

from finetune.analysis.compare import Comparison
from finetune.analysis.data_sizes import LearningCurve
from finetune.analysis.leaderboard import leaderboard
from finetune.analysis.pages.svg import Axis, chart, line
from finetune.commands.report.content import Block
from finetune.runs.record import RunRecord
from finetune.runs.seeds import differing_settings, of_largest_sizes, seed_words
from finetune.task_types.marked_text import cut

SETTINGS_NEEDED = 3  # of two settings the page has a comparison of A and B


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


def comparison_blocks(comparison: Comparison, sides: Sequence[Sequence[RunRecord]]) -> Iterator[Block]:
    """The runs and settings of each side, and the difference in each metric."""
    settings = differing_settings([side[0] for side in sides])
    cells = [["runs", *(", ".join(record.id for record in side) for side in sides)]]
    for key in dict.fromkeys(key for values in settings for key in values):
        cells.append([key, *(cut(str(values.get(key, "–"))) for values in settings)])
    yield Block(title="A and B", columns=["", "A", "B"], cells=cells, left=3)
    note = f"{comparison.counted} of {comparison.split}. {comparison.tests}"
    yield Block(title="Difference", note=note, columns=comparison.columns, cells=comparison.cells)


def boards(records: Sequence[RunRecord]) -> Iterator[Block]:
    """A leaderboard for each task with SETTINGS_NEEDED settings; of several sizes the largest counts."""
    records = of_largest_sizes(records)
    for task in dict.fromkeys(record.task for record in records):
        board = leaderboard([record for record in records if record.task == task])
        if len(board.rows) >= SETTINGS_NEEDED:
            yield Block(
                title=f"Settings of {task} compared",
                note=" ".join(f"{note[:1].upper()}{note[1:]}." for note in board.notes),
                hint="A click on a column's name sorts by it.",
                columns=board.columns, cells=board.rows, left=len(board.columns) - len(board.right),
                sorts=True, wide=True,
            )  # fmt: skip


def curve_block(curve: LearningCurve) -> Block:
    """The mean score by training rows, and the best baseline at that size."""
    verdicts = [(float(size.rows), size.verdict) for size in curve.sizes]
    metric = verdicts[0][1].metric
    means = [(rows, metric.scaled(verdict.score)) for rows, verdict in verdicts]
    base = [(rows, metric.scaled(best)) for rows, verdict in verdicts if (best := verdict.baseline_score) is not None]
    marks = [line(means, marker="circle", name="mean", tips=True)]
    if base:
        marks.append(line(base, colour="s2", dash="6 3", marker="square", name="best baseline", tips=True))
    return Block(
        title=f"Learning curve of {curve.sizes[0].records[0].task}",
        note=curve.answer,
        chart=chart(marks, x=Axis(label="training rows", low=0.0), y=Axis(label=curve.score), says=curve.answer),
        columns=curve.columns,
        cells=curve.cells,
    )


def runs_block(records: Sequence[RunRecord]) -> Block:
    """Headline score and best baseline of each run."""
    cells = []
    for record in records:
        metric, split = record.metric(record.headline), record.first_split
        best = record.best_baseline(split, record.headline)
        names = [record.id, record.task, record.model, seed_words(record), f"{split} {record.headline}"]
        scores = [metric.shown(record.score), "" if best is None else metric.shown(best)]
        cells.append([*map(cut, names), f"{record.rows.get('train', 0):,}", *scores])
    columns = ["run", "task", "model", "seed", "metric", "training rows", "score", "best baseline"]
    return Block(title="Runs", columns=columns, cells=cells, left=5, wide=True)
