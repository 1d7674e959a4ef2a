"""False positive rate of `finetune compare` at p < 0.05 on equal models, by simulation; it should be 5 %.

python benchmarks/false_positives.py --out results/benchmarks/false_positives.json

Accuracy, F1 of a rare class, entity F1 and means of per-row values, with one seed and with several that vary.
"""

from collections.abc import Callable

import numpy as np
from machine import options, write

from finetune.metrics.metric import Counted
from finetune.metrics.significance import mcnemar, paired_bootstrap
from finetune.metrics.sums import mean_counted, part_counted

Draw = Callable[[np.random.Generator, np.ndarray, float], Counted]
RESAMPLES, SPREAD = 1_000, 0.02  # the standard deviation over seeds


def accuracy(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """Accuracy over rows of varying difficulty, the same for both sides."""
    return mean_counted(random.random(len(easy)) < np.clip(easy + shift, 0, 1))


def rare_f1(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """F1 with one positive row in five; both sides have equal recall."""
    there = np.arange(len(easy)) % 5 == 0
    right = random.random(len(easy)) < np.clip(easy + shift, 0, 1)
    predicted = np.where(there, right, ~right & (random.random(len(easy)) < 0.3))
    return part_counted("f1", there & predicted, predicted, there)


def entity_f1(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """Entity F1 with up to four entities per row, each found or not, and some false positives."""
    there = np.arange(len(easy)) % 5
    right = random.binomial(there, np.clip(easy + shift, 0, 1))
    return part_counted("f1", right, right + random.poisson(0.2, len(easy)), there)


def mean_value(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """A per-row value like SQuAD's F1: often 0 or 1, sometimes between."""
    return mean_counted(np.clip(np.round(2 * random.normal(easy + shift, 0.4)) / 2, 0, 1))


DRAWS: dict[str, Draw] = {"accuracy": accuracy, "F1": rare_f1, "entity F1": entity_f1, "SQuAD F1": mean_value}


def share(draw: Draw, rows: int, trials: int, seeds: int) -> float:
    """Share of pairs of equal methods with p < 0.05 by the bootstrap."""
    random, below = np.random.default_rng([rows, seeds]), 0
    for trial in range(trials):
        easy, spread = random.beta(4, 1, rows), 0.0 if seeds == 1 else SPREAD
        sides = [[draw(random, easy, random.normal(0, spread)) for _ in range(seeds)] for _ in range(2)]
        below += paired_bootstrap(*sides, resamples=RESAMPLES, seed=trial).p < 0.05
    return below / trials


def by_mcnemar(rows: int, trials: int) -> float:
    """The same for McNemar's exact test, on accuracy with one seed."""
    random, below = np.random.default_rng(rows), 0
    for _ in range(trials):
        easy = random.beta(4, 1, rows)
        below += mcnemar(*(accuracy(random, easy, 0.0).counts[:, 0] > 0 for _ in range(2))) < 0.05
    return below / trials


def main() -> None:
    """Simulates, prints and writes."""
    given = options(__doc__, trials=1_000, rows=400)
    of_seeds = {seeds: f"{seeds} seed{'s' * (seeds > 1)}" for seeds in (1, 2, 3, 5)}
    found = {
        name: {words: share(draw, given.rows, given.trials, seeds) for seeds, words in of_seeds.items()}
        for name, draw in DRAWS.items()
    }
    exact = by_mcnemar(given.rows, given.trials)
    result = {"rows": given.rows, "trials": given.trials, "bootstrap": found, "McNemar, 1 seed": exact}
    write(given.out, "share of equal methods with p < 0.05", result)


if __name__ == "__main__":
    main()
