"""Possible label errors: a confident model contradicts the label (as in confident learning, Northcutt et al. 2021)."""

from collections.abc import Iterator

import numpy as np

from finetune.analysis.report.blocks import Block
from finetune.analysis.report.shown_rows import MOST_SHOWN, most_certain, shown_row
from finetune.analysis.report.temperature import Temperature
from finetune.analysis.report.text import shown_of
from finetune.task_types.view import Line, View

ORDER = 70
CONFIDENT = 0.9
DEVIATIONS = 3.0  # of the error of a number


def blocks(view: View, _: Temperature | None) -> Iterator[Block]:
    """The rows with their texts, as a suggestion."""
    some, count = label_errors(view, MOST_SHOWN)
    note = f"Only a suggestion: the model may be wrong. {_rule(view)} {shown_of(len(some), count, 'such rows')}"
    yield Block(title="Possible label errors", note=note, shown=[shown_row(view, *one) for one in some], wide=True)


def label_errors(view: View, most: int) -> tuple[list[tuple[Line, float]], int]:
    """(line, certainty) of wrong rows above `threshold`, the most confident first; and the number of such rows."""
    certainty = view.certainty()
    return most_certain(view, np.where(certainty >= threshold(view), certainty, -np.inf), most)


def threshold(view: View) -> float:
    """The confidence from which a wrong prediction suggests a label error; infinity without probabilities.

    The larger of CONFIDENT and the mean confidence of right predictions; for regression, an error of three times the
    root mean squared error.
    """
    if not view.bounded:
        return DEVIATIONS * float(np.sqrt((view.scores() ** 2).mean()))
    found = view.decisions()
    if found is None:
        return np.inf
    confidence, right = found
    return max(CONFIDENT, float(confidence[right].mean()) if right.any() else CONFIDENT)


def _rule(view: View) -> str:
    limit = threshold(view)
    if not np.isfinite(limit):
        return "There are no probabilities, so no row is suggested."
    if not view.bounded:
        return f"The error is over {limit:.2f}, three times the root mean squared error."
    return (
        f"The model contradicts the label with a confidence of {100 * limit:.1f} % or more: its mean confidence "
        f"where it is right, and at least {100 * CONFIDENT:.0f} %."
    )
