"""Three or more models or settings of a task: the score of each with its interval, and the difference to the best."""

from collections.abc import Iterator

from finetune.analysis.board_files import board_chart
from finetune.analysis.board_form import board_form
from finetune.analysis.leaderboard import Board, leaderboards
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.page_runs import PageRuns
from finetune.runs.data_sizes import of_largest_sizes

ORDER = 12
SETTINGS_NEEDED = 3  # of two settings the page has a comparison of A and B


def blocks(page: PageRuns) -> Iterator[Block]:
    """A block for each task and data with SETTINGS_NEEDED settings; of several sizes of the data the largest counts."""
    records = of_largest_sizes([one.record for one in page.runs])
    for task in dict.fromkeys(record.task for record in records):
        for board in leaderboards([record for record in records if record.task == task]):
            if len(board.lines) >= SETTINGS_NEEDED:
                yield _block(board)


def _block(board: Board) -> Block:
    form = board_form([board])
    notes = " ".join(f"{note[:1].upper()}{note[1:]}." for note in form.notes)
    return Block(
        title=f"Settings of {board.task} compared",
        note=f"{board.title[:1].upper()}{board.title[1:]}. {notes}",
        chart=board_chart(board),
        table=TableBlock(
            columns=form.headings, rows=[row[1:] for row in form.rows], left=form.words, strong=[0], sorts=True
        ),
        wide=True,
    )
