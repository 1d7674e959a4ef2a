"""Errors by confidence, and those that suggest a wrong label (as in confident learning, Northcutt et al. 2021)."""

import numpy as np

from finetune.task_types.view import View

CONFIDENT = 0.9
DEVIATIONS = 3.0  # of the error of a number


def suspects(view: View) -> np.ndarray:
    """Whether each row's label may be wrong `(rows,)`: the model contradicts it as confidently as `threshold`."""
    certainty = view.certainty()
    found: np.ndarray = np.isfinite(certainty) & (certainty >= threshold(view))
    return found


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


def rule(view: View) -> str:
    """How rows are suspected, as a sentence; empty where none can be."""
    limit = threshold(view)
    if not np.isfinite(limit):
        return ""
    if not view.bounded:
        return f"its error is over {limit:.2f}, three times the root mean squared error"
    return (
        f"the model contradicts it with a confidence of {100 * limit:.1f} % or more: its mean confidence where it is "
        f"right, and at least {100 * CONFIDENT:.0f} %"
    )
