"""Sizes of the data, such as 10%,25%,50%,100%: shares of the training rows, each of which is a run of its own."""

from collections.abc import Iterable
from typing import Any

from finetune.errors import UserError, shown

EXAMPLE = "Give percentages, such as 10%,25%,50%,100%, or in Python shares: [0.1, 0.25, 0.5, 1]"
FEWEST, MOST = 2, 20


def shares_of(sizes: str | Iterable[Any]) -> list[float]:
    """The shares, over 0 to 1, in increasing order, of numbers or of percentages with commas between them.

    Raises UserError for anything else, and for a single one.
    """
    given = sizes.split(",") if isinstance(sizes, str) else _listed(sizes)
    found = sorted(set(map(_share, given)))
    if not FEWEST <= len(found) <= MOST:
        raise UserError(f"`data_sizes`: {shown(sizes)} has {len(found)}, not {FEWEST} to {MOST}", EXAMPLE)
    return found


def percent(share: float) -> str:
    """`12.5%`"""
    return f"{100 * share:.6g}%"


def _listed(sizes: Any) -> list[Any]:
    if not isinstance(sizes, Iterable):
        raise UserError(f"`data_sizes`: {shown(sizes)} is not a list", EXAMPLE)
    return list(sizes)


def _share(size: Any) -> float:
    """The share of a number, or of a text with a percent sign."""
    try:
        share = _of_percent(size) if isinstance(size, str) else float(size)
    except (TypeError, ValueError):
        raise UserError(f"`data_sizes`: {shown(size)} is not a percentage or share", EXAMPLE) from None
    if not 0 < share <= 1:
        raise UserError(f"`data_sizes`: {size} is not over 0% and at most 100%", EXAMPLE)
    return share


def _of_percent(text: str) -> float:
    """Raises ValueError for a text that is not a percentage."""
    number, sign, after = text.strip().partition("%")
    if after or not sign:
        raise ValueError
    return float(number) / 100
