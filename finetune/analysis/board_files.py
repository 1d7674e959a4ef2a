"""The files of a leaderboard: a page with its charts, LaTeX for a paper, and CSV."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.board_form import board_form, board_numbers
from finetune.analysis.leaderboard import Board
from finetune.analysis.pages.form import as_html, as_latex
from finetune.analysis.pages.templates import require_jinja2
from finetune.data.outputs import output_file

if TYPE_CHECKING:
    from markupsafe import Markup

BOARD_FILES = (".html", ".tex", ".csv")
MOST_DRAWN = 20  # lines of a chart, which is above its table


def write_board(file: Path, boards: Sequence[Board], *, made: str) -> None:
    """Writes in the format of the file's suffix, one of BOARD_FILES; `made` is the command. Raises UserError if it
    cannot be written, and for a page without jinja2.
    """
    written = {".html": _page, ".csv": _csv}.get(file.suffix.lower())
    text = as_latex(board_form(boards), made=made) if written is None else written(boards)
    with output_file(file, remedy="Name another file") as scratch:
        scratch.write_text(text, encoding="utf-8")


def _page(boards: Sequence[Board]) -> str:
    require_jinja2()
    charts = [(board.title, board_chart(board)) for board in boards if len(board.lines) > 1]
    return as_html(board_form(boards), charts)


def board_chart(board: Board) -> "Markup":
    """The score of each line with its interval, its seeds and the best baseline; of very many lines the first."""
    from finetune.analysis.pages.scores_chart import ScoredModel, scores_chart

    shown = board.lines[:MOST_DRAWN]
    several = len({line.model for line in shown}) > 1
    models = [
        ScoredModel(
            name=f"{place} " + ", ".join(filter(None, [line.model * (several or not line.settings), line.settings])),
            score=line.score, interval=line.interval, seeds=[record.score for record in line.records],
            baseline=None if line.baseline is None else line.baseline[1],
        )
        for place, line in enumerate(shown, start=1)
    ]  # fmt: skip
    first = f", the first {MOST_DRAWN} of {len(board.lines)}" * (len(board.lines) > MOST_DRAWN)
    return scores_chart(models, board.metric, title=f"{board.split} {board.metric.name}{first}")


def _csv(boards: Sequence[Board]) -> str:
    numbers, out = board_numbers(boards), io.StringIO()
    writer = csv.DictWriter(out, numbers[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(numbers)
    return out.getvalue()
