"""All rows of a split, to search, filter and sort; first the errors, the most confident on top."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.label_errors import suspicion_rule, threshold
from finetune.commands.report.blocks import Block, RowTable
from finetune.commands.report.filters import filters_of
from finetune.commands.report.row_data import json_rows, rows_that_fit
from finetune.commands.report.row_order import RowOrder, row_order
from finetune.commands.report.shown_rows import shown_row
from finetune.commands.report.split_view import SplitView
from finetune.data.messages import noun, so_many
from finetune.task_types.view import View

ORDER = 10
FIRST_ROWS = 10  # rows that are shown before the script runs


def blocks(split: SplitView) -> Iterator[Block]:
    """The rows; of very many all errors that fit, then others."""
    view, rows, filters = split.view, row_order(split.view, split.temperature), filters_of(split.view)
    kept, least = rows_that_fit(json_rows(split, rows, filters), split.budget), int(rows.least.sum())
    labels, predictions = filters.listed(view)
    table = RowTable(
        id=split.rows_id,
        data={"rows": kept, "bounded": view.bounded, "total": len(view.lines), "least": least},
        first=[shown_row(split, index, rows) for index in rows.order[:FIRST_ROWS].tolist()],
        words=view.sorted_by,
        labels=labels,
        predictions=predictions,
        slices=[(one.name, one.values) for one in filters.slices],
        bounded=view.bounded,
        errors=int(rows.wrong.sum()),
        suspects=int(rows.suspected.sum()),
        least=least,
    )
    yield Block(title="Rows", note=_note(split, rows, kept=len(kept)), rows=table, wide=True)


def _note(split: SplitView, rows: RowOrder, *, kept: int) -> str:
    view, count = split.view, len(split.view.lines)
    errors, suspect, least = (int(some.sum()) for some in (rows.wrong, rows.suspected, rows.least))
    text = (
        f"{errors:,} of {so_many(count)} {noun(errors, 'has', 'have')} an error. "
        if view.bounded
        else f"{so_many(count)}. "
    )
    text += f"{view.legend} " * bool(view.legend)
    if suspect:
        text += (
            f"{suspect:,} of them may have a wrong label, which is only a suggestion, since the model may be wrong: "
            f"{suspicion_rule(view, split.temperature)}. "
        )
    elif least and np.isfinite(limit := threshold(view, split.temperature)):
        text += (
            f"None is a possible label error: the model contradicts no label with a confidence of "
            f"{100 * limit:.1f} % or more. "
        )
    if least:
        which = _least_believed(view)
        text += f"“labels believed least” are the {least:,} rows {which}: look for label errors there first. "
    if kept < count:
        first = "the errors, then those that the model is most sure of"
        first = first if view.bounded else f"those with the highest {view.sorted_by}"
        text += f"The page has room for {kept:,} rows: {first}. "
    return text


def _least_believed(view: View) -> str:
    if not view.bounded:
        return "with the largest errors, compared with those of rows with similar predictions"
    return (
        "to whose label the model gives the lowest probability, compared with the mean of that class "
        "(Northcutt et al. 2021)"
    )
