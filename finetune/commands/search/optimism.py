"""How much too good the score of the best of several settings is, as far as seeds can tell."""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

DRAWS = 10_000


def optimism_of_best(scores: Sequence[Sequence[float]]) -> float | None:
    """The expected excess of the best mean score over that setting's true mean, in units of the score.

    `scores` has a list for each setting, one score a seed, a greater one being better. A parametric bootstrap
    (Efron & Tibshirani 1993, section 6.5 and chapter 10): means with normal noise are drawn around assumed true ones,
    the best is chosen, and its noise is averaged. The noise of a mean is the standard deviation over seeds, pooled
    over the settings, by the root of their number. The true means are those observed, drawn together so that their
    variance is the observed one less that of the noise (Louis 1984), since observed means contain noise already.

    None where no setting has two seeds, or there are fewer than two settings. It does not know that all were chosen on
    the same rows.
    """
    several = [each for each in scores if len(each) > 1]
    if len(scores) < 2 or not several:
        return None
    pooled = sum(np.var(each) * len(each) for each in several) / sum(len(each) - 1 for each in several)
    means, noise = np.array([fmean(each) for each in scores]), np.array([pooled / len(each) for each in scores])
    spread = float(means.var(ddof=1))
    shrink = math.sqrt(max(0.0, 1 - float(noise.mean()) / spread)) if spread else 0.0
    true = means.mean() + shrink * (means - means.mean())
    drawn = np.random.default_rng(0).normal(size=(DRAWS, len(means))) * np.sqrt(noise)
    best = (true + drawn).argmax(axis=1)
    return float(drawn[np.arange(DRAWS), best].mean())
