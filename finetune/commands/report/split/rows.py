"""All rows of a split, to search, filter and sort; first the errors, the most confident on top."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from finetune.analysis.label_errors import suspicion_rule, threshold
from finetune.commands.report.blocks import Block, RowTable
from finetune.commands.report.filters import Filters, filters_of
from finetune.commands.report.row_order import RowOrder, row_order
from finetune.commands.report.shown_rows import shown_row
from finetune.commands.report.split_view import SplitView
from finetune.data.messages import noun, so_many
from finetune.task_types.marked_text import TextPart
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


def json_rows(split: SplitView, rows: RowOrder, filters: Filters) -> Iterator[list[Any]]:
    """The rows in their order as the script reads them; what they are sorted by is None where a row has none."""
    view, lengths = split.view, split.view.lengths()
    for index in rows.order.tolist():
        row, sort = shown_row(split, index, rows), float(rows.certainty[index])
        yield [
            index, row.id, row.label, row.prediction, -1 if row.right is None else int(row.right),
            round(sort, 4) if np.isfinite(sort) else None, int(lengths[index]), list(row.facts),
            [_part(part) for part in row.parts], [*map(list, filters.pairs(view, view.lines[index]))],
            [one.places[index] for one in filters.slices], int(rows.suspected[index]),
            [[one.text, round(one.weight, 3)] for one in row.weights],
            None if rows.doubt is None else int(rows.doubt[index]),
        ]  # fmt: skip


def rows_that_fit(rows: Iterator[list[Any]], most: int) -> list[list[Any]]:
    """The first rows whose JSON takes at most so many bytes."""
    kept, size = [], 0
    for row in rows:
        size += len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) + 1
        if size > most:
            break
        kept.append(row)
    return kept


def _part(part: TextPart) -> list[Any]:
    return [part.name, *([one.text, one.mark, one.label] if one.mark else one.text for one in part.segments)]
