"""All runs of a page: a line each, the learning curve over the size of the data, three or more settings compared."""

from collections.abc import Iterator, Mapping, Sequence

from finetune.analysis.board_form import board_form
from finetune.analysis.data_sizes import FAILED, LearningCurve, ShareOfRows
from finetune.analysis.leaderboard import Board, leaderboards
from finetune.analysis.pages.svg import Axis, Coordinates, chart, dots, intervals, line
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import PageRuns, RunFiles
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
    lines = [_run_line(run, sizes=sizes) for run in page.runs]
    same = {name: value for name, value in lines[0].items() if all(line[name] == value for line in lines)}
    common = [name for name in same if name in SHARED]
    columns = [name for name in lines[0] if name not in common]
    yield Block(
        title="Runs",
        note=f"All: {', '.join(_named(name, same[name]) for name in common)}." if common else "",
        table=TableBlock(
            columns=columns, rows=[[line[name] for name in columns] for line in lines], left=len(columns) - 2
        ),
        wide=True,
    )


def _named(name: str, value: str) -> str:
    """`model minilm`; `seed 42`, whose value names it."""
    return value if value.startswith(f"{name} ") else f"{name} {value}"


def _run_line(run: RunFiles, *, sizes: bool) -> dict[str, str]:
    """The cells of a run by column; with `sizes` also its share of the training rows."""
    record = run.record
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


NUMBERS = ("seeds", "score", "95 % interval", "to the best", "p (Holm)", "against baseline")  # what fits a page
SETTINGS_NEEDED = 3  # of two settings the page has a comparison of A and B


def settings_compared_blocks(page: PageRuns) -> Iterator[Block]:
    """For each task and data with SETTINGS_NEEDED settings; of several sizes of the data the largest counts."""
    records = of_largest_sizes([one.record for one in page.runs])
    for task in dict.fromkeys(record.task for record in records):
        for board in leaderboards([record for record in records if record.task == task]):
            if len(board.lines) >= SETTINGS_NEEDED:
                yield from _board_blocks(board)


def _board_blocks(board: Board) -> Iterator[Block]:
    form = board_form([board])
    numbers = [name for name in NUMBERS if name in form.headings]
    yield Block(
        title=f"Settings of {board.task} compared",
        note=f"{board.title[:1].upper()}{board.title[1:]}. "
        + " ".join(f"{note[:1].upper()}{note[1:]}." for note in board.notes),
        hint="A click on a column's name sorts by it.",
        table=TableBlock(
            columns=["settings", *numbers],
            rows=[_board_cells(dict(zip(form.headings, row[1:], strict=True)), numbers) for row in form.rows],
            strong=[0],
            sorts=True,
        ),
        wide=True,
    )


def _board_cells(line: Mapping[str, str], numbers: Sequence[str]) -> list[str]:
    """The place, model and settings of a line as one cell, then these of its numbers."""
    name = f"{line['']} {', '.join(filter(None, [line['model'], line['settings']]))}"
    return [name, *(line[column] for column in numbers)]
