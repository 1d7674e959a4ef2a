"""The most confident wrong predictions; for regression, the largest errors."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.shown_rows import MOST_SHOWN, most_certain, shown_row
from finetune.analysis.report.temperature import Temperature
from finetune.analysis.report.text import shown_of
from finetune.data.messages import noun, so_many
from finetune.task_types.view import Line, View

ORDER = 60


def blocks(view: View, _: Temperature | None) -> Iterator[Block]:
    """The rows with their texts."""
    some, wrong = confident_errors(view, MOST_SHOWN)
    count = len(view.lines)
    title, note = "Largest errors", shown_of(len(some), count, "rows, the largest error first")
    if view.bounded:
        shown = shown_of(len(some), wrong, "of them, the most confident first")
        title, note = (
            "Most confident errors",
            f"{wrong:,} of {so_many(count)} {noun(wrong, 'has', 'have')} an error. {shown}",
        )
    yield Block(title=title, note=note, shown=[shown_row(view, *one) for one in some], wide=True)


def confident_errors(view: View, most: int) -> tuple[list[tuple[Line, float]], int]:
    """(line, certainty) of wrong rows, the most confident first; and the number of wrong rows."""
    return most_certain(view, view.certainty(), most)
