"""Three or more models or settings of a task: the score of each with its interval, and the difference to the best."""

from collections.abc import Iterator, Mapping, Sequence

from finetune.analysis.board_files import board_chart
from finetune.analysis.board_form import board_form
from finetune.analysis.leaderboard import Board, leaderboards
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.page_runs import PageRuns
from finetune.runs.data_sizes import of_largest_sizes

ORDER = 12
NUMBERS = ("seeds", "score", "95 % interval", "to the best", "p (Holm)", "against baseline")  # what fits a page
SETTINGS_NEEDED = 3  # of two settings the page has a comparison of A and B


def blocks(page: PageRuns) -> Iterator[Block]:
    """For each task and data with SETTINGS_NEEDED settings; of several sizes of the data the largest counts."""
    records = of_largest_sizes([one.record for one in page.runs])
    for task in dict.fromkeys(record.task for record in records):
        for board in leaderboards([record for record in records if record.task == task]):
            if len(board.lines) >= SETTINGS_NEEDED:
                yield from _blocks(board)


def _blocks(board: Board) -> Iterator[Block]:
    """The chart, then the table, which needs the width of the page."""
    form = board_form([board])
    numbers = [name for name in NUMBERS if name in form.headings]
    yield Block(
        title=f"Settings of {board.task} compared",
        note=f"{board.title[:1].upper()}{board.title[1:]}. The numbers are those of the table.",
        chart=board_chart(board),
    )
    yield Block(
        title="Each against the best",
        note=" ".join(f"{note[:1].upper()}{note[1:]}." for note in board.notes),
        hint="A click on a column's name sorts by it.",
        table=TableBlock(
            columns=["settings", *numbers],
            rows=[_cells(dict(zip(form.headings, row[1:], strict=True)), numbers) for row in form.rows],
            strong=[0],
            sorts=True,
        ),
        wide=True,
    )


def _cells(line: Mapping[str, str], numbers: Sequence[str]) -> list[str]:
    """The place, model and settings of a line as one cell, then these of its numbers."""
    name = f"{line['']} {', '.join(filter(None, [line['model'], line['settings']]))}"
    return [name, *(line[column] for column in numbers)]
