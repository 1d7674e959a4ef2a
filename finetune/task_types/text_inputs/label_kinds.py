"""Infers from a label column's values whether it holds classes, a number, or several labels, and its number format."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from finetune.data.column_types import DATES, SEPARATORS, ColumnFacts, signs_of_no, signs_of_yes
from finetune.data.messages import short, so_many
from finetune.data.number_formats import reading_of_commas
from finetune.data.values import as_list, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous, label_candidates
from finetune.task_types.column_names import name_words_of

CLASSES, NUMBER, SEVERAL = "classification", "regression", "multi-label"  # names of types, see their columns.py
RANKING = "ranking"
ROWS_LOOKED_AT = 5_000
MANY_VALUES = 0.5  # share of the rows: with more distinct values a column does not hold classes
FEW_NUMBERS = 20  # most whole numbers that are classes
MOST_OFFERED = 5  # other columns than one of dates
POSITIONS = re.compile(r"[\w.]+([,;| ])\s*[\w.]+(\1\s*[\w.]+)*")
FRACTION = re.compile(r"-?\d*\.\d*[1-9]\d*")
TWO = re.compile("[01],[01]")  # labels by position, or numbers with a decimal comma
NEARLY_ALL = 0.95  # share of the lists that are as long
EACH = 2  # fewest mean rows per class where there are more


@dataclass(frozen=True, kw_only=True)
class LabelKind:
    """The task type of a label column, the separator of several labels in a cell, and the decimal sign of numbers."""

    shape: str
    why: str
    separator: str = ""
    decimal: Literal[".", ","] = "."


def label_kind(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, ColumnFacts], label: Sequence[str], *, file: str,
    shape: str | None = None, decimal: str | None = None,
) -> LabelKind:  # fmt: skip
    """Infers what label columns hold, given `shape` and `decimal` if set. Raises Ambiguous where two readings fit."""
    fact = facts[label[0]]
    if len(label) > 1:
        return LabelKind(shape=SEVERAL, why=f"{len(label)} label columns")
    cells = [as_text(cell).strip() for cell in columns[label[0]] if not is_missing(cell)]
    count = positions_in(columns[label[0]])
    if count and shape is None and any(map(TWO.fullmatch, cells)):
        _ask_commas(cells, label[0], file, shape)
    if count and shape in (None, SEVERAL):
        return LabelKind(shape=SEVERAL, why=f"0 or 1 for each of {count} labels")
    if fact.kind == "list":
        _require_labels(columns[label[0]], label[0], file)
        return LabelKind(shape=SEVERAL, why="lists of labels")
    reading = reading_of_commas([cell for cell in columns[label[0]][:ROWS_LOOKED_AT] if isinstance(cell, str)])
    if reading == "unclear" and decimal is None and shape in (None, NUMBER):
        _ask_commas(cells, label[0], file, shape)
    if reading == "labels" and decimal is None:
        return LabelKind(shape=SEVERAL, why="labels by number with ',' between them", separator=",")
    sign: Literal[".", ","] = "," if (decimal or ("," if reading == "decimal" else ".")) == "," else "."
    if fact.kind == "number" and (
        not fact.whole or fact.distinct > FEW_NUMBERS or reading in ("decimal", "thousands", "unclear")
    ):
        if shape is None and (_are_class_numbers(fact, cells) or _are_few(fact)):
            return _class_or_degree(fact, label[0], file)
        what = f"{fact.distinct} different numbers" + ("" if fact.whole else ", some not whole")
        written = {"decimal": ", with a decimal comma", "thousands": ", with commas between thousands"}.get(reading, "")
        return LabelKind(shape=NUMBER, why=what + written, decimal=sign)
    if shape is None and _are_apart(cells):
        choices = [
            ("shape=multi-label", "labels with a space between them"),
            ("shape=classification", "names of two words"),
        ]
        raise Ambiguous(f"{file}: the cells of the column '{label[0]}' can be one label or several", choices)
    if separator := separator_in(cells):
        return LabelKind(shape=SEVERAL, why=f"labels with '{separator}' between them", separator=separator)
    if shape is None and fact.why == DATES:
        others = label_candidates(facts, columns, label)[:MOST_OFFERED]
        choices = [(one.setting, one.what) for one in others]
        choices.append(("shape=classification", f"each of the {so_many(fact.distinct, 'date')} is a class"))
        raise Ambiguous(f"{file}: the column '{label[0]}' has dates", choices)
    if shape is None and fact.distinct > MANY_VALUES * fact.filled and fact.filled > FEW_NUMBERS:
        raise UserError(
            f"{file}: the column '{label[0]}' has {so_many(fact.distinct, 'value')} in {so_many(fact.filled)}: "
            "too many classes",
            "Name another with label=COLUMN, or set shape=classification",
        )
    return LabelKind(shape=CLASSES, why=f"{so_many(fact.distinct, 'different value')}", decimal=sign)


def items_and_sign(cell: Any) -> tuple[list[Any], str]:
    """(the items of a list, or those of a text with the same sign between them; this sign)."""
    found = as_list(cell)
    if found is None and isinstance(cell, str) and (match := POSITIONS.fullmatch(cell.strip())):
        return re.split(r"[,;| ]\s*", cell.strip()), match[1]
    return found or [], ""


def marks_in(cell: Any) -> list[bool] | None:
    """Whether a cell has each label, where it says 0 or 1, or no or yes, for each by position; else None."""
    signs = [as_text(item).strip().lower().removesuffix(".0") for item in items_and_sign(cell)[0]]
    if not signs or not {*signs} <= signs_of_no() | signs_of_yes():
        return None
    return [sign in signs_of_yes() for sign in signs]


def positions_in(cells: Sequence[Any]) -> int:
    """How many labels cells have 0 or 1 for, by their length, which nearly all share; 0 for other cells."""
    some = (cell for cell in cells[:ROWS_LOOKED_AT] if not is_missing(cell) and as_list(cell) != [])
    lengths = Counter(len(marks_in(cell) or ()) for cell in some)
    length, count = lengths.most_common(1)[0] if lengths else (0, 0)
    return length if length > 1 and count >= NEARLY_ALL * lengths.total() else 0


def _require_labels(cells: Sequence[Any], label: str, file: str) -> None:
    """Raises UserError for lists of as many items in all rows, some of which are equal or not whole: no labels."""
    lists = [list(map(as_text, found)) for cell in cells[:ROWS_LOOKED_AT] if (found := as_list(cell))]
    odd = any(len({*some}) < len(some) or any(map(FRACTION.fullmatch, some)) for some in lists)
    if len({*map(len, lists)}) == 1 and len(lists[0]) > 1 and odd:
        raise UserError(
            f"{file}: the column '{label}' has {len(lists[0])} values in each row, {short(lists[0])}, not labels",
            "Write the names of its labels, or 0 or 1 for each label",
        )


def separator_in(cells: Sequence[str]) -> str:
    """The separator of labels in a cell: parts recur in other combinations, so there are fewer than cells."""
    some = cells[:ROWS_LOOKED_AT]
    for separator in SEPARATORS:
        many = [text for text in some if separator in text]
        if len(many) < 0.05 * len(some) or len(many) < 2:
            continue
        parts = Counter(part.strip() for text in some for part in text.split(separator))
        if len(parts) < len(set(some)) and all(len(part.split()) <= 4 for part in parts) and min(map(len, parts)) > 0:
            return separator
    return ""


def _are_apart(cells: Sequence[str]) -> bool:
    """Whether cells of several words are made of words that also occur as whole cells: `cs.CL cs.LG`."""
    alone = {cell for cell in cells if " " not in cell}
    several = [cell.split() for cell in cells if " " in cell]
    parts = Counter(part for words in several for part in words)
    return (
        len(several) > 0.05 * len(cells) and sum(n for part, n in parts.items() if part in alone) > 0.6 * parts.total()
    )


def _ask_commas(cells: Sequence[str], label: str, file: str, shape: str | None) -> None:
    example = next(cell for cell in cells if "," in cell)
    choices = [
        ("decimal=,", f"'{example}' has a decimal comma"),
        ("decimal=.", f"'{example}' has a comma between thousands"),
    ]
    if shape is None:
        how = "0 or 1 for each of two labels" if all(map(TWO.fullmatch, cells)) else "two labels by number"
        choices.append(("shape=multi-label", f"'{example}' are {how}"))
    if shape is None and len(set(cells)) <= FEW_NUMBERS:
        choices.append(("shape=classification", f"each of the {so_many(len(set(cells)), 'value')} is a class"))
    raise Ambiguous(f"{file}: the commas in the column '{label}' can mean several things", choices)


def _are_class_numbers(fact: ColumnFacts, cells: Sequence[str]) -> bool:
    """Whether whole numbers could be class numbers: all from 0 or 1 up to the largest, each with several rows."""
    if not fact.whole or fact.distinct <= FEW_NUMBERS or fact.filled < EACH * fact.distinct:
        return False
    numbers = {int(float(cell)) for cell in cells if cell.replace(".0", "").isdigit()}
    first = min(numbers, default=-1)
    return first in (0, 1) and len(numbers) >= 0.95 * (max(numbers) - first + 1)


def _are_few(fact: ColumnFacts) -> bool:
    """Whether numbers that are not whole are few, each with several rows: versions and codes are names."""
    return not fact.whole and 1 < fact.distinct <= FEW_NUMBERS and fact.filled >= EACH * fact.distinct


def _class_or_degree(fact: ColumnFacts, label: str, file: str) -> LabelKind:
    words = set(name_words_of(label))
    if fact.whole and words.intersection(word_list("label_of_classes")):
        return LabelKind(shape=CLASSES, why=f"{fact.distinct} classes by number")
    if words.intersection(word_list("label_of_degrees")):
        return LabelKind(shape=NUMBER, why=f"{fact.distinct} different numbers")
    choices = [("shape=classification", f"{fact.distinct} classes by number"), ("shape=regression", "a number")]
    raise Ambiguous(
        f"{file}: the {so_many(fact.distinct, 'number')} in the column '{label}' can be classes or an amount", choices
    )
