"""Labels that may be wrong: errors of high confidence, and the labels that are believed least (confident learning,
Northcutt et al. 2021).
"""

import numpy as np

from finetune.task_types.view import View

CONFIDENT = 0.9
LEAST_BELIEVED = 20  # rows that are listed in any case
DEVIATIONS = 3.0  # of the error of a number


def suspects(view: View) -> np.ndarray:
    """Whether each row's label may be wrong `(rows,)`: the model contradicts it as confidently as `threshold`."""
    if not view.annotated:
        return np.zeros(len(view.lines), bool)
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


def beliefs(view: View) -> tuple[np.ndarray, np.ndarray] | None:
    """How far each row's label is believed: (its probability, that less the mean of its class), `(rows,)` each.

    The mean probability of a class's own labels is the threshold of confident learning (Northcutt et al. 2021, section
    3.1): less is usual for a class that the model is unsure of. Of a row with several labels the least believed one
    counts. None without probabilities.
    """
    found = view.beliefs()
    if found is None:
        return None
    _, classes = np.unique(np.asarray(found.classes, object).astype(str), return_inverse=True)
    means = np.bincount(classes, weights=found.chances) / np.bincount(classes)
    relative = found.chances - means[classes]
    order = np.lexsort((relative, found.rows))
    first = order[np.diff(found.rows[order], prepend=-1) != 0]  # the least of each row
    return found.chances[first], relative[first]


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value `(rows,)`, 0 for the least."""
    found: np.ndarray = np.argsort(np.argsort(values, kind="stable"))
    return found


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
