"""Metrics of labels in a tree, such as `News > Sport > Tennis`: by level, and of all levels together."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from finetune.metrics.metric import Metric
from finetune.metrics.scores import accuracy, macro_f1
from finetune.metrics.sums import Counted, part_counted, set_counts


def path_of(label: Any, delimiter: str) -> tuple[str, ...]:
    """The names from the root to a label: `("News", "Sport", "Tennis")`; none where there is no label."""
    return tuple(part.strip() for part in str(label).split(delimiter)) if label is not None else ()


def tree_metrics(labels: Sequence[str], delimiter: str) -> tuple[Metric, ...]:
    """Hierarchical F1 (Kiritchenko et al. 2006), then accuracy and macro F1 at each level."""
    sums = partial(_path_sums, delimiter=delimiter)
    depth = max((len(path_of(label, delimiter)) for label in labels), default=0)
    levels = (_at_level(metric, level, delimiter) for level in range(1, depth + 1) for metric in (accuracy, macro_f1))
    return (Metric("hierarchical f1", sums=sums), *levels)


def at_level(values: Sequence[Any], level: int, delimiter: str) -> list[str]:
    """The labels cut off below a level; those that end above it are unchanged."""
    return [delimiter.join(path_of(value, delimiter)[:level]) for value in values]


def _at_level(metric: Metric, level: int, delimiter: str) -> Metric:
    return Metric(f"level {level}/{metric.name}", sums=partial(_cut, metric.sums, level=level, delimiter=delimiter))


def _cut(function: Any, gold: Sequence[Any], answers: Sequence[Any], *, level: int, delimiter: str) -> Any:
    return function(at_level(gold, level, delimiter), at_level(answers, level, delimiter))


def _path_sums(gold: Sequence[Any], answers: Sequence[Any], *, delimiter: str) -> Counted:
    """A label with all that is above it."""
    there, given = ([_with_parents(value, delimiter) for value in values] for values in (gold, answers))
    return part_counted("f1", *set_counts(there, given))


def _with_parents(label: Any, delimiter: str) -> list[tuple[str, ...]]:
    path = path_of(label, delimiter)
    return [path[: level + 1] for level in range(len(path))]
