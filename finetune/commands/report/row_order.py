"""What the rows of a split are marked and sorted by."""

from dataclasses import dataclass

import numpy as np

from finetune.analysis.label_errors import LEAST_BELIEVED, beliefs, ranks, suspects
from finetune.analysis.temperature import Temperature
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
