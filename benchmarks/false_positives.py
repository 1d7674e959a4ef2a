"""False positive rate of `finetune compare` at p < 0.05 on equal models, by simulation; it should be 5 %.

python benchmarks/false_positives.py --out results/benchmarks/false_positives.json

Accuracy, F1 of a rare class, entity F1 and means of per-row values, with one seed and with several that vary.
"""

from collections.abc import Callable

import machine
import numpy as np
from dated import out_parser, write_json

from finetune.metrics.significance import mcnemar, paired_bootstrap
from finetune.metrics.sums import Counted, mean_counted, part_counted

Draw = Callable[[np.random.Generator, np.ndarray, float], Counted]
RESAMPLES = 1_000


def accuracy(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """Accuracy over rows of varying difficulty, the same for both sides."""
    return mean_counted(random.random(len(easy)) < np.clip(easy + shift, 0, 1))


def rare_f1(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """F1 with one positive row in five; both sides have equal recall."""
    there = np.arange(len(easy)) % 5 == 0
    right = random.random(len(easy)) < np.clip(easy + shift, 0, 1)
    given = np.where(there, right, ~right & (random.random(len(easy)) < 0.3))
    return part_counted("f1", there & given, given, there)


def entity_f1(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """Entity F1 with up to four entities per row, each found or not, and some false positives."""
    there = np.arange(len(easy)) % 5
    right = random.binomial(there, np.clip(easy + shift, 0, 1))
    return part_counted("f1", right, right + random.poisson(0.2, len(easy)), there)


def mean_value(random: np.random.Generator, easy: np.ndarray, shift: float) -> Counted:
    """A per-row value like SQuAD's F1: often 0 or 1, sometimes between."""
    return mean_counted(np.clip(np.round(2 * random.normal(easy + shift, 0.4)) / 2, 0, 1))


DRAWS: dict[str, Draw] = {"accuracy": accuracy, "F1": rare_f1, "entity F1": entity_f1, "SQuAD F1": mean_value}


def share(draw: Draw, *, rows: int, seeds: int, trials: int, spread: float) -> float:
    """Share of pairs of equal methods with p < 0.05; `spread` is the standard deviation over seeds."""
    random = np.random.default_rng([rows, seeds])
    below = 0
    for trial in range(trials):
        easy = random.beta(4, 1, rows)
        sides = [[draw(random, easy, random.normal(0, spread)) for _ in range(seeds)] for _ in range(2)]
        below += paired_bootstrap(*sides, resamples=RESAMPLES, seed=trial).p < 0.05
    return below / trials


def by_mcnemar(*, rows: int, trials: int) -> float:
    """The same for McNemar's exact test, on accuracy with one seed."""
    random = np.random.default_rng(rows)
    below = 0
    for _ in range(trials):
        easy = random.beta(4, 1, rows)
        below += mcnemar(*(accuracy(random, easy, 0.0).counts[:, 0] > 0 for _ in range(2))) < 0.05
    return below / trials


def main() -> None:
    """Simulates, prints and writes."""
    parser = out_parser("False positives of finetune compare", required=False)
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=400)
    options = parser.parse_args()
    found = {}
    for name, draw in DRAWS.items():
        found[name] = {
            f"{seeds} seed{'s' * (seeds > 1)}": share(
                draw, rows=options.rows, seeds=seeds, trials=options.trials, spread=0.0 if seeds == 1 else 0.02
            )
            for seeds in (1, 2, 3, 5)
        }
        print(name, found[name], flush=True)
    exact = by_mcnemar(rows=options.rows, trials=options.trials)
    print("McNemar", exact)
    result = {"about": "share of equal methods with p < 0.05", **machine.facts(), "rows": options.rows}
    result |= {"trials": options.trials, "bootstrap": found, "McNemar, 1 seed": exact}
    write_json(options.out, result)


if __name__ == "__main__":
    main()
