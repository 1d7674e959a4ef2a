"""All runs of a page: a line each, the learning curve over the size of the data, three or more settings compared."""

from collections.abc import Iterator, Sequence

from finetune.analysis.data_sizes import FAILED, LearningCurve, ShareOfRows
from finetune.analysis.leaderboard import Board, board_form, leaderboards
from finetune.analysis.pages.svg import Axis, Coordinates, chart, dots, intervals, line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import PageRuns
from finetune.commands.report.text import score_text
from finetune.data.messages import so_many
from finetune.runs.data_sizes import exact_percent, of_largest_sizes, share_of
from finetune.runs.record import RunRecord
from finetune.runs.seeds import seed_words
from finetune.task_types.marked_text import cut

SHARED = ("task", "model", "seed", "finished", "headline")  # columns that runs may have in common


def overview_block(page: PageRuns) -> Iterator[Block]:
    """Headline score and best baseline of each run; what is the same for all of several is in the note."""
    sizes = any(share_of(run.record) < 1 for run in page.runs)
    lines = [_run_line(run.record, sizes=sizes) for run in page.runs]
    common = {name: lines[0][name] for name in SHARED if len({line[name] for line in lines}) == 1}
    columns = [name for name in lines[0] if name not in common]
    shared = [value if value.startswith(f"{name} ") else f"{name} {value}" for name, value in common.items()]
    yield Block(
        title="Runs",
        note=f"All: {', '.join(shared)}." if shared else "",
        table=TableBlock(
            columns=columns, rows=[[line[name] for name in columns] for line in lines], left=len(columns) - 2
        ),
        wide=True,
    )


def _run_line(record: RunRecord, *, sizes: bool) -> dict[str, str]:
    """The cells of a run by column; with `sizes` also its share of the training rows."""
    metric, best = record.metric(record.headline), record.best_baseline(record.first_split, record.headline)
    return {
        "id": record.id,
        "task": cut(record.task),
        "model": cut(record.model),
        **({"size": exact_percent(share_of(record))} if sizes else {}),
        "seed": cut(seed_words(record)),
        "finished": record.finished[:10],
        "headline": cut(f"{record.first_split} {record.headline}"),
        "score": metric.shown(record.score),
        "best baseline": score_text(best, metric),
    }


def learning_curve(curve: LearningCurve) -> Block:
    """The mean score by size with its interval, each seed, failed runs, and the best baseline at that size."""
    sizes = curve.sizes
    metric = sizes[0].verdict.metric

    def at(size: ShareOfRows, score: float) -> Coordinates:
        return float(size.rows), metric.scaled(score)

    def scores(size: ShareOfRows, records: Sequence[RunRecord]) -> list[Coordinates]:
        return [at(size, record.scores[size.verdict.split][metric.name]) for record in records]

    ends = [(at(size, found[0]), at(size, found[1])) for size in sizes if (found := size.verdict.interval) is not None]
    base = [at(size, size.baseline) for size in sizes if size.baseline is not None]
    seeds, bad = (
        [point for size in sizes for point in scores(size, getattr(size, some))] for some in ("records", "failed")
    )
    marks = [intervals(ends, name="95 % interval")] if ends else []
    marks += [line([at(size, size.verdict.score) for size in sizes], marker="circle", name="mean", tips=True)]
    if len(seeds) > len(sizes):
        marks.append(dots(seeds, faint=True, name="a seed", radius=2.4))
    if len(base) > 1:
        marks.append(line(base, colour="s2", dash="6 3", marker="square", name="best baseline", tips=True))
    if bad:  # on top: often they are at the baseline
        marks.append(dots(bad, shape="cross", colour="ink", name=FAILED, radius=4.5))
    said = [
        f"{so_many(size.rows)} {metric.shown(size.verdict.score)}"
        + f", {len(size.failed)} of {so_many(len(size.records), 'run')} {FAILED}" * bool(size.failed)
        for size in sizes
    ]
    return Block(
        title=f"Learning curve of {sizes[0].records[0].task}",
        note=f"{curve.answer} {curve.worth}".strip(),
        chart=chart(
            marks, x=Axis(label="training rows", low=0.0), y=Axis(label=curve.score), height=220,
            says=f"{curve.score} by training rows: {'; '.join(said)}",
        ),
        table=TableBlock(columns=curve.columns, rows=curve.cells),
    )  # fmt: skip


NUMBERS = ("seeds", "score", "95 % interval", "to the best", "p (Holm)", "against baseline")  # what fits a page
SETTINGS_NEEDED = 3  # of two settings the page has a comparison of A and B


def settings_compared_blocks(page: PageRuns) -> Iterator[Block]:
    """For each task and data with SETTINGS_NEEDED settings; of several sizes of the data the largest counts."""
    records = of_largest_sizes([one.record for one in page.runs])
    for task in dict.fromkeys(record.task for record in records):
        for board in leaderboards([record for record in records if record.task == task]):
            if len(board.lines) >= SETTINGS_NEEDED:
                yield _board_block(board)


def _board_block(board: Board) -> Block:
    """The place, model and settings of each line as one cell, then its numbers."""
    form = board_form([board])
    numbers = [name for name in NUMBERS if name in form.header]
    notes = [f"{note[:1].upper()}{note[1:]}." for note in (board.title, *board.notes)]
    return Block(
        title=f"Settings of {board.records[0].task} compared",
        note=" ".join(notes),
        hint="A click on a column's name sorts by it.",
        table=TableBlock(
            columns=["settings", *numbers],
            rows=[
                [f"{each['']} {', '.join(filter(None, [each['model'], each['settings']]))}"]
                + [each[name] for name in numbers]
                for each in form.cells
            ],
            strong=[0],
            sorts=True,
        ),
        wide=True,
    )
