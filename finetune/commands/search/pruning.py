"""Which trials stop early: after 1, 2, 4, 8, ... epochs, each compared with what others had after as many."""

from collections.abc import Sequence
from math import ceil
from statistics import median
from typing import Literal, get_args

Rule = Literal["none", "median", "halving"]
RULES: tuple[Rule, ...] = get_args(Rule)
FEWEST_TRIALS = 5  # finished trials before the median says something, as in Optuna


def rungs(epochs: int) -> list[int]:
    """The epochs after which a trial of so many epochs is compared: powers of two, before the last."""
    return [2**power for power in range(epochs.bit_length()) if 2**power < epochs]


def is_behind(rule: Rule, rank: float, *, finished: Sequence[float], reached: Sequence[float]) -> bool:
    """Whether a trial stops whose mean over its seeds after an epoch has this rank; greater ranks are better.

    `finished` are the ranks, after the same epoch, of trials that trained to their end, `reached` those of all trials
    that came so far, this one included. With `median` it stops if it is below the median of the finished ones (Golovin
    et al. 2017, section 3.2.1); with `halving` if it is not in the better half of those that came so far (asynchronous
    successive halving, Li et al. 2020, with a factor of two).
    """
    if rule == "median":
        return len(finished) >= FEWEST_TRIALS and rank < median(finished)
    if rule == "halving":
        return sum(other > rank for other in reached) >= ceil(len(reached) / 2)
    return False
