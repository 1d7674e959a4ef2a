"""Labels that may be wrong: the labels that a model believes least (confident learning, Northcutt et al. 2021)."""

from dataclasses import dataclass

import numpy as np

from finetune.task_types.predictions import Predictions

TINY = 1e-30  # replaces probabilities that were rounded to 0 when saved
LEAST_BELIEVED = 20  # rows that are listed in any case
NEIGHBOURS, LEAST_NEIGHBOURS = 0.1, 20  # share and number of rows with the nearest predictions, for a usual error


@dataclass(frozen=True, kw_only=True)
class Believed:
    """The belief in each row's label, `(rows,)` each: its probability, `belief`, which ranks the rows, and the index of
    its least believed decision. NaN without a probability; numbers have no probabilities and no decisions.
    """

    chances: np.ndarray
    belief: np.ndarray
    least: np.ndarray | None = None


def beliefs(table: Predictions) -> Believed | None:
    """The belief in each row's label; None without probabilities.

    It is the label's probability less the mean of its class, the threshold of confident learning (Northcutt et al.
    2021, section 3.1): low probabilities are usual for a class that the model is unsure of. Of a row with several
    labels the least believed label counts (as for the words of a sentence in Wang and Mueller 2022), by logarithms:
    the classes differ in size by far, and by probabilities the usually certain classes came first, which found fewer
    errors. Of a number it is the negative error, in units of the usual error of such predictions.
    """
    if table.numbers is not None:
        labels, predictions = table.numbers
        errors = np.abs(labels - predictions)
        return Believed(chances=np.full(len(errors), np.nan), belief=-errors / expected_errors(errors, predictions))
    at = np.flatnonzero(np.isfinite(table.decisions.chance))
    if not at.size:
        return None
    decisions = table.decisions.at(at)
    _, classes = np.unique(decisions.label.astype(str), return_inverse=True)
    values = np.log(np.maximum(decisions.chance, TINY)) if table.nothing else decisions.chance
    relative = values - (np.bincount(classes, weights=values) / np.bincount(classes))[classes]
    order = np.lexsort((relative, decisions.row))
    first = order[np.diff(decisions.row[order], prepend=-1) != 0]  # the least of each row
    chances, belief = np.full((2, len(table)), np.nan)
    least, rows = np.zeros(len(table), int), decisions.row[first]
    chances[rows], belief[rows], least[rows] = decisions.chance[first], relative[first], at[first]
    return Believed(chances=chances, belief=belief, least=least)


def expected_errors(errors: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """The mean error of the rows with the nearest predictions `(rows,)`, never below a quarter of the mean of all."""
    order = np.argsort(predictions, kind="stable")
    width = min(len(errors), max(LEAST_NEIGHBOURS, round(NEIGHBOURS * len(errors))))
    sums = np.cumsum(np.concatenate([[0.0], errors[order]]))
    begin = np.clip(np.arange(len(errors)) - width // 2, 0, len(errors) - width)
    means = np.empty(len(errors))
    means[order] = (sums[begin + width] - sums[begin]) / width
    return np.maximum(means, max(errors.mean() / 4, np.finfo(float).tiny))


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value `(rows,)`, 0 for the least."""
    return np.asarray(np.argsort(np.argsort(values, kind="stable")))
