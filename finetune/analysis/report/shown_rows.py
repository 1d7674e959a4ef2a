"""Rows of a split with texts, label and prediction; the most certain ones."""

import numpy as np

from finetune.analysis.report.blocks import ShownRow
from finetune.analysis.report.text import NAME
from finetune.task_types.marked_text import cut
from finetune.task_types.view import Line, View

MOST_SHOWN = 20


def most_certain(view: View, certainty: np.ndarray, most: int) -> tuple[list[tuple[Line, float]], int]:
    """(line, certainty) by decreasing certainty `(rows,)`; and how many rows are above minus infinity."""
    order = np.argsort(-certainty, kind="stable")
    count = int((certainty > -np.inf).sum())
    return [(view.lines[index], float(certainty[index])) for index in order[: min(most, count)]], count


def shown_row(view: View, line: Line, certainty: float, *, right: bool = False) -> ShownRow:
    """A line of predictions as a ShownRow."""
    facts = []
    if not view.bounded:
        facts.append(f"off by {certainty:.3f}")
    elif 0 < certainty < np.inf:
        facts.append(f"confidence {100 * certainty:.1f} %")
    if not right and view.bounded and (agreeing := view.agreeing(line)):
        facts.append(f"also predicted by {' and '.join(agreeing)}")
    label, prediction = view.verdict(line)
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=view.parts(line),
        label=cut(label),
        prediction=cut(prediction),
        facts=facts,
        right=right if view.bounded else None,
    )
