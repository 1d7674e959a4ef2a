"""Sizes of the data, such as 10%,25%,50%,100%: shares of the training rows, each a run; the best of several runs."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from finetune.errors import UserError, shown_value
from finetune.runs.record import RunRecord
from finetune.runs.seeds import by_setting, groups, mean_score

PERCENTAGES, SHARES = "Give percentages, such as 10%,25%,50%,100%", "Give shares, such as [0.1, 0.25, 0.5, 1]"
FEWEST_SIZES, MOST_SIZES = 2, 20
SETTING = "train_share"


def shares_of(sizes: str | Iterable[Any]) -> list[float]:
    """The shares, over 0 to 1, in increasing order, of numbers or of percentages with commas between them.

    Raises UserError for anything else, and for a single one.
    """
    remedy = PERCENTAGES if isinstance(sizes, str) else SHARES
    if not isinstance(sizes, Iterable):
        raise UserError(f"`data_sizes`: {shown_value(sizes)} is not a list", SHARES)
    shares = set()
    for size in sizes.split(",") if isinstance(sizes, str) else sizes:
        number, sign, after = size.strip().partition("%") if isinstance(size, str) else (size, "%", "")
        try:
            if after or not sign:
                raise ValueError
            share = float(number) / (100 if isinstance(size, str) else 1)
        except (TypeError, ValueError):
            raise UserError(f"`data_sizes`: {shown_value(size)} is not a percentage or share", remedy) from None
        if not 0 < share <= 1:
            raise UserError(f"`data_sizes`: {size} is not over 0% and at most 100%", remedy)
        shares.add(share)
    if not FEWEST_SIZES <= len(shares) <= MOST_SIZES:
        what = f"`data_sizes`: {shown_value(sizes)} has {len(shares)}, not {FEWEST_SIZES} to {MOST_SIZES}"
        raise UserError(what, remedy)
    return sorted(shares)


def exact_percent(share: float) -> str:
    """`12.5%`"""
    return f"{100 * share:.6g}%"


def by_share(records: Sequence[RunRecord]) -> list[dict[float, list[RunRecord]]]:
    """The runs of each setting that was run with several shares of the same rows, by share, smallest first."""
    sizes = [
        {share: list(runs) for share, runs in groupby(sorted(group, key=share_of), key=share_of)}
        for group in groups(records, over=[SETTING])
    ]
    return [by_size for by_size in sizes if len(by_size) > 1]


def of_largest_sizes(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records without those of smaller sizes of the data, which answer another question than which is best."""
    smaller = {record.id for sizes in by_share(records) for share in list(sizes)[:-1] for record in sizes[share]}
    return [record for record in records if record.id not in smaller]


def share_of(record: RunRecord) -> float:
    """The share of the training rows of a run."""
    return float(record.recipe.get(SETTING, 1.0))


def best_group(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs of the setting with the best mean headline score over its seeds and folds, on the first split.

    Of several sizes of the data only the largest takes part. A mean that is undefined is the worst; of equal ones the
    first setting counts.
    """

    def rank(group: Sequence[RunRecord]) -> float:
        first = group[0]
        return first.metric(first.headline).rank(mean_score(group, first.first_split, first.headline))

    return max(by_setting(of_largest_sizes(records)), key=rank)


def best_run(records: Sequence[RunRecord]) -> RunRecord:
    """The run of the best setting with the best headline score on the first split; of several folds in the first."""
    return max(groups(best_group(records))[0], key=lambda record: record.metric(record.headline).rank(record.score))
