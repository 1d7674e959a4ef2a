"""Occlusion: what is lost when one word is masked, and the others are not. It checks integrated gradients."""

from collections.abc import Sequence

import numpy as np

from finetune.inference.explain.value import PickedLogits
from finetune.inference.explain.words import ExplainedWord

FEWEST = 3  # words of which ranks are compared
NEGLIGIBLE = 0.05


def occlusion(value: PickedLogits, words: Sequence[ExplainedWord], mask_id: int) -> list[float]:
    """The value minus that of the row without each word, whose tokens are replaced by the mask."""
    versions = value.ids.repeat(len(words) + 1, 1, 1)
    for version, word in enumerate(words, start=1):
        for sequence, position in word.places:
            versions[version, sequence, position] = mask_id
    whole, *without = value.of(versions).tolist()
    return [whole - each for each in without]


def rank_agreement(added: Sequence[float], lost: Sequence[float]) -> float | None:
    """Spearman's rank correlation, -1 to 1; None for too few words, or where all are equal.

    Words with under NEGLIGIBLE of the strongest word's part count as 0, since the order among them is noise.
    """
    from scipy.stats import spearmanr

    given, without = _without_noise(added), _without_noise(lost)
    if len(given) < FEWEST or np.ptp(given) == 0 or np.ptp(without) == 0:
        return None
    return float(spearmanr(given, without).statistic)


def _without_noise(parts: Sequence[float]) -> np.ndarray:
    found = np.asarray(parts, dtype=float)
    return np.where(np.abs(found) < NEGLIGIBLE * np.abs(found).max(initial=0), 0.0, found)
