"""Classes in an order, as stars and words of a scale are: one that is recognised adds scores, a named one decides."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from finetune.data.messages import shown
from finetune.data.values import as_number
from finetune.data.words.lists import by_language, word_list
from finetune.errors import UserError
from finetune.metrics.scores import LEAST_ORDERED
from finetune.task_types.classification.label_kinds import CLASSES
from finetune.task_types.classification.mistakes import parted
from finetune.task_types.column_names import place_of
from finetune.task_types.columns import Layout

NONE = "none"  # the value of the setting where labels have no order
MOST_ORDERED = 20  # labels


def with_order(layout: Layout, order: Any) -> Layout:
    """The layout with the order of its labels: the named one, else the order of words of a scale, or of numbers in a
    column whose name says that they are degrees.

    Raises UserError for labels of other types, and for an order that lacks a label.
    """
    if layout.shape != CLASSES or not layout.label:
        if order:
            raise UserError(f"order= is for one class a row, and this data has shape={layout.shape}", "Leave it out")
        return layout
    if order:
        names, why = () if order == NONE else _named_order(layout, order), "given"
    elif names := _scale(layout.labels):
        why = "words of a scale; order=none if they have none"
    else:
        degrees = place_of(layout.label[0], (*word_list("label_of_degrees"), *word_list("label_of_order")))
        names, why = _numbers(layout.labels) if degrees else (), "the column's name; order=none if they have none"
    return replace(layout, order=names, reasons={**layout.reasons, "order": why}) if order or names else layout


def _named_order(layout: Layout, order: Any) -> tuple[str, ...]:
    """The labels of `order=a,b,c`, or of a list in a recipe, in which numbers may have become floats."""
    items = order.split(",") if isinstance(order, str) else order
    text = ",".join(f"{item:g}" if isinstance(item, float) else str(item) for item in items)
    names = tuple(parted(text, dict.fromkeys(layout.labels, 1)))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"order={text}: names {shown(twice[0])} twice", "Name each label once")
    if missing := [label for label in layout.labels if label not in names]:
        unknown = [f", and no row has {shown(name)}" for name in names if name not in layout.labels][:1]
        raise UserError(
            f"order={text}: lacks the label {shown(missing[0])}{''.join(unknown)}",
            f"Name all from the lowest to the highest, of {', '.join(layout.labels)}",
        )
    if len(names) < LEAST_ORDERED:
        raise UserError(f"order={text}: {len(names)} labels have no steps between them", "Leave it out")
    return names


def _scale(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels in the order of the scales that have all of them; empty where none has, or two have other orders."""
    by_word = {_word(label): label for label in labels}
    if len(labels) < LEAST_ORDERED or len(by_word) < len(labels):
        return ()
    scales = chain.from_iterable(by_language("scales").values())
    fitting = (scale for scale in scales if set(by_word) <= set(scale))
    orders = {tuple(by_word[word] for word in scale if word in by_word) for scale in fitting}
    return orders.pop() if len(orders) == 1 else ()


def _word(label: str) -> str:
    """A label as scales have it: `Very_Good` is `very good`."""
    return " ".join(re.sub(r"[_-]", " ", unicodedata.normalize("NFKC", label)).casefold().split())


def _numbers(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels as numbers in their order; empty where they are none, equal, or too few or many."""
    numbers = {label: number for label in labels if (number := as_number(label)) is not None}
    if not LEAST_ORDERED <= len(labels) <= MOST_ORDERED or len({*numbers.values()}) < len(labels):
        return ()
    return tuple(sorted(labels, key=lambda label: numbers[label]))
