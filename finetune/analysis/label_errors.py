"""Labels that may be wrong: those that are believed least (confident learning, Northcutt et al. 2021)."""

from dataclasses import dataclass

import numpy as np

from finetune.task_types.predictions import Predictions

TINY = 1e-30  # replaces probabilities that were rounded to 0 when saved
LEAST_BELIEVED = 20  # rows that are listed in any case
NEIGHBOURS, LEAST_NEIGHBOURS = 0.1, 20  # share and number of rows with the nearest predictions, for a usual error


@dataclass(frozen=True, kw_only=True)
class Believed:
    """How far each row's label is believed, `(rows,)` each: its probability, `belief`, which ranks it, and the index of
    its least believed decision. NaN where nothing is known; numbers have no probabilities and no decisions.
    """

    chances: np.ndarray
    belief: np.ndarray
    least: np.ndarray | None = None


def beliefs(table: Predictions) -> Believed | None:
    """How far each row's label is believed; None without probabilities.

    That is its probability less the mean of its class, the threshold of confident learning (Northcutt et al. 2021,
    section 3.1): less is usual for a class that the model is unsure of. Of a row with several labels the least believed
    one counts (as for the words of a sentence in Wang and Mueller 2022), and logarithms are compared: their classes
    differ in size by far, and by probabilities those that are usually certain came first, which found fewer errors. Of
    a number it is the error, negative, in units of what is usual for such predictions.
    """
    if table.numbers is not None:
        return _believed_numbers(*table.numbers)
    at = np.flatnonzero(np.isfinite(table.decisions.chance))
    if not at.size:
        return None
    found = table.decisions.at(at)
    _, classes = np.unique(found.label.astype(str), return_inverse=True)
    values = np.log(np.maximum(found.chance, TINY)) if table.nothing else found.chance
    relative = values - (np.bincount(classes, weights=values) / np.bincount(classes))[classes]
    order = np.lexsort((relative, found.row))
    first = order[np.diff(found.row[order], prepend=-1) != 0]  # the least of each row
    chances, belief = np.full((2, len(table)), np.nan)
    chances[found.row[first]], belief[found.row[first]] = found.chance[first], relative[first]
    least = np.zeros(len(table), int)
    least[found.row[first]] = at[first]
    return Believed(chances=chances, belief=belief, least=least)


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
