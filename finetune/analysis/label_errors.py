"""Labels that may be wrong: errors of high confidence, and the labels that are believed least (confident learning,
Northcutt et al. 2021).
"""

from dataclasses import dataclass

import numpy as np

from finetune.analysis.temperature import Temperature
from finetune.metrics.temperature import TINY, highest_with_temperature
from finetune.task_types.view import View

CONFIDENT = 0.9
LEAST_BELIEVED = 20  # rows that are listed in any case
DEVIATIONS = 3.0  # of the error of a number
NEIGHBOURS, LEAST_NEIGHBOURS = 0.1, 20  # share and number of rows with the nearest predictions, for a usual error


def suspects(view: View, temperature: Temperature | None) -> np.ndarray:
    """Whether each row's label may be wrong `(rows,)`: the model contradicts it as confidently as `threshold`.

    Both at the temperature, where probabilities are a softmax: without it a model that is too sure suspects most of its
    own errors.
    """
    if not view.annotated:
        return np.zeros(len(view.lines), bool)
    certainty, scaled = view.certainty(), _calibrated(view, temperature)
    if scaled is not None:
        certainty = np.where(np.isfinite(certainty), scaled, certainty)
    found: np.ndarray = np.isfinite(certainty) & (certainty >= threshold(view, temperature))
    return found


def threshold(view: View, temperature: Temperature | None) -> float:
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
    scaled = _calibrated(view, temperature)
    confidence = confidence if scaled is None else scaled
    return max(CONFIDENT, float(confidence[right].mean()) if right.any() else CONFIDENT)


def _calibrated(view: View, temperature: Temperature | None) -> np.ndarray | None:
    """The confidence of each row's prediction at the temperature `(rows,)`; None where there is none."""
    chances = view.chances()
    return None if temperature is None or chances is None else highest_with_temperature(chances[0], temperature.value)


@dataclass(frozen=True, kw_only=True)
class Believed:
    """How far each row's label is believed, `(rows,)` each: its probability, `belief`, which ranks it, and the place of
    the least believed one where rows have several. NaN where nothing is known; numbers have no probabilities.
    """

    chances: np.ndarray
    belief: np.ndarray
    places: np.ndarray | None = None


def beliefs(view: View) -> Believed | None:
    """How far each row's label is believed; None without probabilities.

    That is its probability less the mean of its class, the threshold of confident learning (Northcutt et al. 2021,
    section 3.1): less is usual for a class that the model is unsure of. Of a row with several labels the least believed
    one counts (as for the words of a sentence in Wang and Mueller 2022), and logarithms are compared: their classes
    differ in size by far, and by probabilities those that are usually certain came first, which found fewer errors. Of
    a number it is the error, negative, in units of what is usual for such predictions.
    """
    found = view.beliefs()
    if found is None:
        numbers = view.numbers()
        return None if numbers is None else _believed_numbers(*numbers)
    _, classes = np.unique(np.asarray(found.classes, object).astype(str), return_inverse=True)
    values = found.chances if found.places is None else np.log(np.maximum(found.chances, TINY))
    relative = values - (np.bincount(classes, weights=values) / np.bincount(classes))[classes]
    order = np.lexsort((relative, found.rows))
    first = order[np.diff(found.rows[order], prepend=-1) != 0]  # the least of each row
    rows, count = found.rows[first], len(view.lines)
    chances, belief = np.full((2, count), np.nan)
    chances[rows], belief[rows] = found.chances[first], relative[first]
    if found.places is None:
        return Believed(chances=chances, belief=belief)
    places = np.zeros(count, int)
    places[rows] = found.places[first]
    return Believed(chances=chances, belief=belief, places=places)


def _believed_numbers(labels: np.ndarray, predictions: np.ndarray) -> Believed:
    errors = np.abs(labels - predictions)
    return Believed(chances=np.full(len(errors), np.nan), belief=-errors / expected_errors(errors, predictions))


def expected_errors(errors: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """The mean error of the rows with the nearest predictions `(rows,)`, never below a quarter of the mean of all."""
    order = np.argsort(predictions, kind="stable")
    width = min(len(errors), max(LEAST_NEIGHBOURS, round(NEIGHBOURS * len(errors))))
    sums = np.cumsum(np.concatenate([[0.0], errors[order]]))
    begin = np.clip(np.arange(len(errors)) - width // 2, 0, len(errors) - width)
    found = np.empty(len(errors))
    found[order] = (sums[begin + width] - sums[begin]) / width
    return np.maximum(found, max(errors.mean() / 4, np.finfo(float).tiny))


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value `(rows,)`, 0 for the least."""
    found: np.ndarray = np.argsort(np.argsort(values, kind="stable"))
    return found


def suspicion_rule(view: View, temperature: Temperature | None) -> str:
    """How rows are suspected, as a sentence; empty where none can be."""
    limit = threshold(view, temperature)
    if not np.isfinite(limit):
        return ""
    if not view.bounded:
        return f"its error is over {limit:.2f}, three times the root mean squared error"
    scaled = "" if _calibrated(view, temperature) is None else " at the temperature of its calibration"
    return (
        f"the model contradicts it with a confidence of {100 * limit:.1f} % or more{scaled}: its mean confidence where "
        f"it is right, and at least {100 * CONFIDENT:.0f} %"
    )
