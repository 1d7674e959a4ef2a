"""Numbers and values as text."""

from collections.abc import Mapping, Sequence
from typing import Any

from finetune.metrics.metric import Metric
from finetune.task_types.marked_text import cut

NAME = 40  # characters of a class or of a row's id


def score_text(value: float | None, metric: Metric) -> str:
    """A score as its metric is shown; empty for none."""
    return "" if value is None else metric.shown(value)


def list_text(values: Sequence[float], metric: Metric) -> str:
    """`84.3, 85.1`"""
    return ", ".join(map(metric.shown, values))


def pairs_text(values: Mapping[str, float], metric: Metric) -> str:
    """`majority 50.0, tfidf 71.2`"""
    return ", ".join(f"{name} {metric.shown(value)}" for name, value in values.items()) or "none"


def value_text(value: Any) -> str:
    """A setting's value as text."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return cut(", ".join(map(value_text, value)))
    return "–" if value is None else cut(str(value))


def shown_of(shown: int, count: int, what: str) -> str:
    """`Showing 20 of 1,234 rows.`; empty if all are shown."""
    return "" if shown == count else f"Showing {shown:,} of {count:,} {what}."
