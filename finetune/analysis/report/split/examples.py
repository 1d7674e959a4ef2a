"""The first rows of a split."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.shown_rows import shown_row
from finetune.analysis.report.temperature import Temperature
from finetune.analysis.report.text import shown_of
from finetune.task_types.view import View

ORDER = 80
EXAMPLES = 6


def blocks(view: View, _: Temperature | None) -> Iterator[Block]:
    """The first EXAMPLES rows, in order."""
    scores, certainty = view.scores(), view.certainty()
    shown = [shown_row(view, line, certainty[i], right=scores[i] == 1) for i, line in enumerate(view.lines[:EXAMPLES])]
    yield Block(title="Examples", note=shown_of(len(shown), len(view.lines), "rows, the first"), shown=shown, wide=True)
