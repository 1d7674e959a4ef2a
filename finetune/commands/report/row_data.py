"""The rows of a split as JSON for the page's script: as many as fit, the errors first."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from finetune.commands.report.filters import Filters
from finetune.commands.report.row_order import RowOrder
from finetune.commands.report.shown_rows import shown_row
from finetune.commands.report.split_view import SplitView
from finetune.task_types.marked_text import TextPart


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
