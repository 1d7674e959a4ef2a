"""Rows of a split with texts, label and prediction."""

from collections.abc import Iterator

from finetune.commands.report.blocks import ShownRow
from finetune.commands.report.row_order import RowOrder
from finetune.commands.report.split_view import SplitView
from finetune.commands.report.text import NAME
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import cut


def shown_row(split: SplitView, index: int, rows: RowOrder) -> ShownRow:
    """The line of predictions at an index as a ShownRow."""
    view, line = split.view, split.view.lines[index]
    label, prediction = view.verdict(line)
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=view.parts(line),
        label=cut(label),
        prediction=cut(prediction),
        facts=[*_facts(split, index, rows)],
        right=not rows.wrong[index] if view.bounded else None,
        weights=split.weights.get(str(line["id"]), ()),
    )


def _facts(split: SplitView, index: int, rows: RowOrder) -> Iterator[str]:
    """The view's own facts, or the confidence; which baselines agree; what is doubtful about the label."""
    view, certainty, chance = split.view, rows.certainty[index], rows.chances[index]
    yield from view.facts(view.lines[index])
    if view.bounded and 0 < certainty <= 1:
        yield f"confidence {100 * certainty:.1f} %"
    if rows.wrong[index] and view.bounded and (agreeing := view.agreeing(view.lines[index])):
        yield f"also predicted by {' and '.join(cut(baseline_words(name)) for name in agreeing)}"
    if chance == chance:  # not NaN
        yield f"probability of the label {100 * chance:.1f} %"
    if rows.suspected[index]:
        yield "possible label error"
