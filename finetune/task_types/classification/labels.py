"""Classes that are left out (slips of the pen, `drop=LABEL`), and classes in an order, such as stars."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from finetune.data.characters import misspelled
from finetune.data.issues import Issue
from finetune.data.messages import shown
from finetune.data.values import as_number
from finetune.data.words.lists import by_language, word_list
from finetune.errors import UserError, nearest
from finetune.metrics.scores import LEAST_ORDERED
from finetune.task_types.classification.label_kinds import CLASSES
from finetune.task_types.column_names import place_of
from finetune.task_types.columns import Layout, unusable

EVERY = "all"
MOST_OF_ROWS = 0.05  # share of the rows: where there are more, they are what the data has
LEAST_LETTERS = 8  # of a label in which a letter more or less is a slip; shorter ones are often words (neural, neutral)
FREQUENT = 100  # rows
DROPPED = "named by drop="  # why a label is left out that the user named
THRICE = re.compile(r"([a-zà-ÿа-я])\1\1")  # as no word has a letter, but III
SYLLABLES = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")
LABEL_MISTAKE = unusable(
    "label-mistake",
    "a label that no other row has looks like a mistake",
    "Correct it, or set keep=LABEL (or keep=all) to train on it",
)
LABEL_DROPPED = Issue(
    code="label-dropped",
    severity="note",
    meaning="rows whose label drop= leaves out",
    remedy="Take the label out of drop= to train on it",
)


NONE = "none"  # the value of the setting where labels have no order
MOST_ORDERED = 20  # labels


def with_mistakes(layout: Layout, counts: Mapping[str, int], keep: str, drop: str) -> Layout:
    """The layout with the labels that are left out, of those with so many rows each; `keep` is `a,b`, or `all`.

    Raises UserError for settings that name no label of the data, and for data of another type.
    """
    if layout.shape != CLASSES or not layout.label:
        if keep or drop:
            setting = "keep" if keep else "drop"
            raise UserError(f"{setting}= names classes, and this data has shape={layout.shape}", "Leave it out")
        return layout
    slips, dropped = slips_in(counts, layout.label[0]), _named("drop", drop, counts)
    exceptions = list(slips) if keep == EVERY and EVERY not in counts else _named("keep", keep, counts)
    if both := {*dropped} & {*exceptions}:
        raise UserError(f"keep= and drop= both name the label {shown(min(both))}", "Leave one of them out")
    left_out = {name: why for name, why in slips.items() if name not in exceptions} | dict.fromkeys(dropped, DROPPED)
    return replace(layout, mistakes=left_out)


def slips_in(counts: Mapping[str, int], column: str) -> dict[str, str]:
    """The labels of a single row that are slips of a frequent one, or the column's name, with the reason.

    Leaving out a right label costs more than training on a wrong one. So a letter changed for another is none, nor one
    more at the end, which often make another word.
    """
    usual = {name: count for name, count in counts.items() if count > 1}
    if len(usual) < 2:
        return {}
    single = [name for name, count in counts.items() if count == 1]
    slips = {name: "the column's name" for name in single if name.casefold() == column.casefold()}
    for name, meant in misspelled(counts).items():
        by_nature = any(misspelled({near: 1, meant: FREQUENT}) for near in usual if near != meant)
        if name not in usual and not by_nature and not SYLLABLES.search(name) and _is_slip(name, meant):
            slips[name] = f"perhaps {shown(meant)}"
    return slips if len(slips) <= MOST_OF_ROWS * sum(counts.values()) else {}


def _is_slip(name: str, meant: str) -> bool:
    """Whether two letters are exchanged, or one is missing or added within a word, in a long label; or one comes
    three times.
    """
    if THRICE.search(name) and not THRICE.search(meant):
        return True
    name, meant = name.casefold(), meant.casefold()
    if len(meant) < LEAST_LETTERS:
        return False
    if len(name) == len(meant):
        return sorted(name) == sorted(meant)
    words, others = name.split(), meant.split()
    changed = [(word, other) for word, other in zip(words, others, strict=False) if word != other]
    return len(words) == len(others) and all((word[0], word[-1]) == (other[0], other[-1]) for word, other in changed)


def _named(setting: str, text: str, counts: Mapping[str, int]) -> list[str]:
    """The labels in `a,b`. Raises UserError for one that no row has."""
    names = list(parted(text, counts))
    if missing := [name for name in names if name not in counts]:
        near = nearest(missing[0], list(counts))
        raise UserError(f"{setting}={text}: no row has the label {shown(missing[0])}", f"{near}Name labels of the data")
    return names


def parted(text: str, labels: Mapping[str, int]) -> Iterator[str]:
    """The parts between commas, of which the most that make a label are one name: labels may have commas."""
    parts = text.split(",")
    while parts:
        joined = {end: ",".join(parts[:end]).strip() for end in range(len(parts), 0, -1)}
        end = next((end for end, name in joined.items() if name in labels), 1)
        if joined[end]:
            yield joined[end]
        parts = parts[end:]


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
