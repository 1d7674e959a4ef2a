"""All rows of a split, to search, filter and sort; first the errors, the most confident on top."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from finetune.analysis.report.blocks import Block, RowTable, ShownRow
from finetune.analysis.report.errors import LEAST_BELIEVED, beliefs, places, rule, suspects, threshold
from finetune.analysis.report.row_data import fitting, json_row, names_of, slices_in
from finetune.analysis.report.shown_rows import shown_row
from finetune.analysis.report.split_view import SplitView
from finetune.data.messages import noun, so_many

ORDER = 60
FIRST = 20  # rows that are shown before the script runs


def blocks(split: SplitView) -> Iterator[Block]:
    """The rows; of very many all errors that fit, then others."""
    view, count = split.view, len(split.view.lines)
    wrong, suspected = view.wrong(), suspects(view)
    certainty = _certainty(split, wrong)
    found = beliefs(view)
    doubt = None if found is None else places(found[1])
    least = np.zeros(count, bool) if doubt is None else doubt < LEAST_BELIEVED
    order = np.lexsort((np.arange(count), -certainty, wrong | ~least, ~wrong))
    names, slices = names_of(view), slices_in(view)
    chances = None if found is None else np.where(least, found[0], np.nan)
    shown = partial(_shown, split, wrong=wrong, certainty=certainty, suspected=suspected, chances=chances)
    values = [sorted(set(some)) for _, some in slices]
    of_value = [{value: place for place, value in enumerate(some)} for some in values]
    lengths = view.lengths()

    def as_json(index: int) -> list[Any]:
        pairs = {(names.get(a, -1), names.get(b, -1)) for a, b in view.row_pairs(view.lines[index])}
        return json_row(
            shown(index), number=index, sort=float(certainty[index]), length=int(lengths[index]), pairs=sorted(pairs),
            slices=[place[some[index]] for place, (_, some) in zip(of_value, slices, strict=True)],
            suspect=bool(suspected[index]), doubt=None if doubt is None else int(doubt[index]),
        )  # fmt: skip

    kept = fitting(map(as_json, order.tolist()), split.budget)
    errors, suspect = int(wrong.sum()), int(suspected.sum())
    every = np.array([pair for line in view.lines for pair in view.row_pairs(line)], object).reshape(-1, 2)
    listed = [sorted(set(every[:, side].tolist()) & set(names), key=str) for side in (0, 1)]
    yield Block(
        title="Rows",
        note=_note(split, errors=errors, suspect=suspect, least=int(least.sum()), kept=len(kept)),
        rows=RowTable(
            id=split.rows_id,
            data={"rows": kept, "bounded": view.bounded, "total": count, "least": int(least.sum())},
            first=[shown(index) for index in order[:FIRST].tolist()],
            words="confidence" if view.bounded else "error",
            labels=[(name, names[name]) for name in listed[0]],
            predictions=[(name, names[name]) for name in listed[1]],
            slices=[(name, some) for (name, _), some in zip(slices, values, strict=True)],
            bounded=view.bounded,
            errors=errors,
            suspects=suspect,
            least=int(least.sum()),
        ),
        wide=True,
    )


def _certainty(split: SplitView, wrong: np.ndarray) -> np.ndarray:
    """What rows are sorted by `(rows,)`: the confidence of the worst error or prediction; for numbers the error."""
    view = split.view
    certainty, found = view.certainty().astype(float), view.decisions()
    if view.bounded and found is not None and len(found[0]) == len(view.lines):
        return np.where(wrong, certainty, found[0])
    return certainty


def _shown(
    split: SplitView,
    index: int,
    *,
    wrong: np.ndarray,
    certainty: np.ndarray,
    suspected: np.ndarray,
    chances: np.ndarray | None,
) -> ShownRow:
    line = split.view.lines[index]
    chance = None if chances is None or np.isnan(chances[index]) else float(chances[index])
    return shown_row(
        split.view, line, wrong=bool(wrong[index]), certainty=float(certainty[index]), suspect=bool(suspected[index]),
        chance=chance, weights=split.weights.get(str(line["id"]), ()),
    )  # fmt: skip


def _note(split: SplitView, *, errors: int, suspect: int, least: int, kept: int) -> str:
    view, count = split.view, len(split.view.lines)
    text = (
        f"{errors:,} of {so_many(count)} {noun(errors, 'has', 'have')} an error. "
        if view.bounded
        else f"{so_many(count)}. "
    )
    if suspect:
        text += (
            f"{suspect:,} of them may have a wrong label, which is only a suggestion, since the model may be wrong: "
            f"{rule(view)}. "
        )
    elif least and np.isfinite(threshold(view)):
        text += (
            f"None is a possible label error: the model contradicts no label with a confidence of "
            f"{100 * threshold(view):.1f} % or more. "
        )
    if least:
        text += (
            f"“labels believed least” are the {least:,} rows to whose label the model gives the lowest probability, "
            f"compared with the mean of that class (Northcutt et al. 2021): look for label errors there first. "
        )
    if kept < count:
        text += f"The page has room for {kept:,} rows: the errors, then those that the model is most sure of. "
    return text
