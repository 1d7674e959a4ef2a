"""The rows of a split, to search, filter and sort; first the errors, the most confident on top."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.analysis.label_errors import LEAST_BELIEVED, beliefs, ranks, suspects, suspicion_rule, threshold
from finetune.analysis.temperature import Temperature
from finetune.commands.report.blocks import Block, RowTable, ShownRow
from finetune.commands.report.parts import Filters, filters_of
from finetune.commands.report.run_files import SplitView
from finetune.commands.report.text import NAME
from finetune.data.messages import noun, so_many
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import TextPart, cut
from finetune.task_types.view import View


@dataclass(frozen=True, kw_only=True)
class RowOrder:
    """Facts of each row, `(rows,)` each, and `order`: the indices of the rows as the page shows them.

    `certainty` is the confidence of the worst error, or of the prediction; for numbers the error. `suspected` rows may
    have a wrong label. `doubt` is the rank of the label, 0 for the one that is believed least; None without
    probabilities. `chances` has the probability of the label where it is not the confidence: of errors, and of the
    `least` believed labels; NaN for others.
    """

    wrong: np.ndarray
    certainty: np.ndarray
    suspected: np.ndarray
    doubt: np.ndarray | None
    least: np.ndarray
    chances: np.ndarray
    order: np.ndarray


def row_order(view: View, temperature: Temperature | None = None) -> RowOrder:
    """Errors first, then the labels that are believed least, the most confident on top."""
    count, wrong, found = len(view.lines), view.wrong(), beliefs(view)
    certainty = _certainty(view, wrong)
    doubt = None if found is None else ranks(found.belief)
    least = np.zeros(count, bool) if doubt is None else doubt < LEAST_BELIEVED
    return RowOrder(
        wrong=wrong,
        certainty=certainty,
        suspected=suspects(view, temperature),
        doubt=doubt,
        least=least,
        chances=np.full(count, np.nan) if found is None else np.where(least | wrong, found.chances, np.nan),
        order=np.lexsort((np.arange(count), -certainty, wrong | ~least, ~wrong)),
    )


def _certainty(view: View, wrong: np.ndarray) -> np.ndarray:
    certainty, found = view.certainty().astype(float), view.decisions()
    if view.bounded and found is not None and len(found[0]) == len(view.lines):
        return np.where(wrong, certainty, found[0])
    return certainty


def shown_row(split: SplitView, index: int, rows: RowOrder) -> ShownRow:
    """The line of predictions at an index as a ShownRow."""
    view, line = split.view, split.view.lines[index]
    label, prediction = view.verdict(line)
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=view.parts(line),
        label=cut(label),
        prediction=cut(prediction),
        facts=list(_facts(split, index, rows)),
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


FIRST_ROWS = 10  # rows that are shown before the script runs


def rows_block(split: SplitView) -> Iterator[Block]:
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
