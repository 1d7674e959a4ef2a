"""Labels that are numbers: their range in words, and parts of it that splits should have alike shares of."""

from collections.abc import Sequence


def number_summary(golds: Sequence[float]) -> str:
    """The range and the mean."""
    if not golds:
        return "none"
    mean = sum(golds) / len(golds)
    return f"{min(golds):g} to {max(golds):g}, mean {mean:.4g}, {len(set(golds)):,} different ones"


def number_strata(values: Sequence[float]) -> list[int]:
    """The tenth that each number is in; of few numbers a larger part, so that each part has two."""
    ranks = {value: rank for rank, value in enumerate(sorted(values))}
    parts = max(1, min(10, len(values) // 2))
    return [parts * ranks[value] // max(1, len(values)) for value in values]
