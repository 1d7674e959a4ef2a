"""How labels are related: in an order, as stars and grades are, or in a tree, as `News > Sport > Tennis` is.

What is recognised adds scores, and changes nothing else; what the user names decides.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from finetune.data.messages import shown
from finetune.data.values import as_number
from finetune.data.words.lists import by_language, word_list
from finetune.errors import UserError
from finetune.metrics.ordinal import LEAST_ORDERED
from finetune.metrics.tree import path_of
from finetune.task_types.candidates import copied
from finetune.task_types.column_names import place_of
from finetune.task_types.columns import Layout
from finetune.task_types.mistaken_labels import parted
from finetune.task_types.types import named_type

NONE = "none"  # the value of both settings where labels are not related
MOST_ORDERED = 20  # labels
FIRST_SHOWN = 5  # names of the first level
DELIMITERS = ("->", "::", ">", "/")  # between the names of a label in a tree
MOST_SHORT = 0.5  # share of the labels up to which some are of the first level alone
GRADE = re.compile(r"([A-F])([+-]?)")
SIGNS = {"-": -1, "": 0, "+": 1}


def with_relations(layout: Layout, order: Any, levels: str) -> Layout:
    """The layout with the order of its labels, and the delimiter of their levels; `none` is neither.

    Raises UserError for labels of other types, for an order that lacks a label, and a delimiter that none has.
    """
    if not (named_type(layout.shape).droppable and len(layout.label) == 1):
        if order or levels:
            given = "order" if order else "levels"
            raise UserError(f"{given}= is for one class a row, and this data has shape={layout.shape}", "Leave it out")
        return layout
    layout = _with_levels(layout, levels)
    if order:
        names = () if order == NONE else _given_order(layout, order)
        return _with_reason(replace(layout, order=names), "order", "given")
    return _with_found_order(layout)


def could_be_related(layout: Layout) -> Iterator[str]:
    """What the labels could be, and how to say so: an order, or the levels of a tree."""
    if not named_type(layout.shape).droppable or "order" in layout.reasons or "levels" in layout.reasons:
        return
    if order := _plain_order(layout.labels):
        yield f"not in an order, but could be: {copied('order=' + ','.join(order))}"
    if len(fitting := _tree_delimiters(layout.labels)) > 1:
        settings = " or ".join(copied(f"levels={one}") for one in fitting)
        yield f"not in a tree, but could be: {settings}"


def _with_reason(layout: Layout, name: str, why: str) -> Layout:
    return replace(layout, reasons={**layout.reasons, name: why})


def _given_order(layout: Layout, order: Any) -> tuple[str, ...]:
    typed = isinstance(order, str)
    names = tuple(parted(order, dict.fromkeys(layout.labels, 1)) if typed else map(_as_typed, order))
    shown_order = order if typed else ",".join(names)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"order={shown_order}: names {shown(twice[0])} twice", "Name each label once")
    if missing := [label for label in layout.labels if label not in names]:
        unknown = [f", and no row has {shown(name)}" for name in names if name not in layout.labels][:1]
        raise UserError(
            f"order={shown_order}: lacks the label {shown(missing[0])}{''.join(unknown)}",
            f"Name all from the lowest to the highest, of {', '.join(layout.labels)}",
        )
    if len(names) < LEAST_ORDERED:
        raise UserError(f"order={shown_order}: {len(names)} labels have no steps between them", "Leave it out")
    return names


def _as_typed(item: Any) -> str:
    return f"{item:g}" if isinstance(item, float) else str(item)


def _with_found_order(layout: Layout) -> Layout:
    """The order of words of a scale; of numbers and letters where the column's name says that they are degrees."""
    names = (*word_list("label_of_degrees"), *word_list("label_of_order"))
    degrees = place_of(layout.label[0], names) is not None
    for order, why in ((_scale(layout.labels), "words of a scale"), (_plain_order(layout.labels), "the column's name")):
        if order and (degrees or why != "the column's name"):
            return _with_reason(replace(layout, order=order), "order", f"{why}; order=none if they have none")
    return layout


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


def _plain_order(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels as numbers or as grades in their order, F the lowest; empty where they are neither, or too few."""
    if not LEAST_ORDERED <= len(labels) <= MOST_ORDERED:
        return ()
    numbers = [as_number(label) for label in labels]
    ranks: Sequence[Any] = numbers if None not in numbers else [_grade(label) for label in labels]
    if None in ranks or len(set(ranks)) < len(ranks):
        return ()
    return tuple(label for _, label in sorted(zip(ranks, labels, strict=True)))


def _grade(label: str) -> tuple[int, int] | None:
    found = GRADE.fullmatch(label.strip())
    return None if found is None else (-ord(found[1]), SIGNS[found[2]])


def _with_levels(layout: Layout, levels: str) -> Layout:
    if levels == NONE:
        return _with_reason(layout, "levels", "given")
    if levels:
        delimiter = levels.strip() or levels
        if not any(delimiter in label for label in layout.labels):
            labels = ", ".join(layout.labels[:LEAST_ORDERED])
            raise UserError(
                f"levels={levels}: no label has it; the first are {labels}",
                "Name what is between levels, or levels=none",
            )
        return _with_reason(replace(layout, levels=delimiter), "levels", "given")
    fitting = _tree_delimiters(layout.labels)
    if len(fitting) != 1:
        return layout
    return _with_reason(replace(layout, levels=fitting[0]), "levels", _tree_words(layout.labels, fitting[0]))


def _tree_words(labels: Sequence[str], delimiter: str) -> str:
    """`3 levels, the first of Fun, News; levels=none if they are in no tree`."""
    paths = [path_of(label, delimiter) for label in labels]
    first = list(dict.fromkeys(path[0] for path in paths))
    listed = ", ".join(first[:FIRST_SHOWN]) + f" and {len(first) - FIRST_SHOWN} more" * (len(first) > FIRST_SHOWN)
    return f"{max(map(len, paths))} levels, the first of {listed}; levels=none if they are in no tree"


def _tree_delimiters(labels: Sequence[str]) -> list[str]:
    """The delimiters by which labels make a tree; of `->` and `>` the longer."""
    fitting = [one for one in DELIMITERS if _is_tree([path_of(label, one) for label in labels])]
    return [one for one in fitting if not any(one != other and one in other for other in fitting)]


def _is_tree(paths: Collection[tuple[str, ...]]) -> bool:
    """Whether at least two names have several below them, each name has its level, and few recur below another name.

    So `and/or`, `1/5` and `red/small` are none.
    """
    short = sum(len(path) == 1 for path in paths)
    if len(paths) < LEAST_ORDERED or short > MOST_SHORT * len(paths) or not all(map(all, paths)):
        return False
    if all(as_number(part) is not None for path in paths for part in path):
        return False
    below = _names_below(paths)
    levels = defaultdict[str, set[int]](set)
    parents = defaultdict[tuple[int, str], set[tuple[str, ...]]](set)
    for path, names in below.items():
        for name in names:
            levels[name].add(len(path))
            parents[len(path), name].add(path)
    recurring = sum(len(each) > 1 for each in parents.values())
    deep = sum(level > 0 for level, _ in parents)
    several = sum(len(names) > 1 for names in below.values())
    return several > 1 and max(map(len, levels.values())) == 1 and 2 * recurring < deep


def _names_below(paths: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], set[str]]:
    """The names directly below each name, by its path; those of the first level are below none."""
    below = defaultdict[tuple[str, ...], set[str]](set)
    for path in paths:
        for level, name in enumerate(path):
            below[path[:level]].add(name)
    return below
