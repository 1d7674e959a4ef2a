"""Infers from a label column's values whether it holds classes, a number, or several labels, and its number format."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from finetune.data.column_types import DATES, SEPARATORS, ColumnFacts, reading_of_commas, signs_of_no, signs_of_yes
from finetune.data.messages import short, so_many
from finetune.data.values import as_list, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous, label_candidates
from finetune.task_types.column_names import name_words_of
from finetune.task_types.columns import Layout
from finetune.task_types.own_type import Evidence

CLASSES, NUMBER, SEVERAL = "classification", "regression", "multi-label"  # names of types
ROWS_LOOKED_AT = 5_000
MANY_VALUES = 0.5  # share of the rows: with more distinct values a column does not hold classes
FEW_NUMBERS = 20  # most whole numbers that are classes
MOST_OFFERED = 5  # other columns than one of dates
POSITIONS = re.compile(r"[\w.]+([,;| ])\s*[\w.]+(\1\s*[\w.]+)*")
FRACTION = re.compile(r"-?\d*\.\d*[1-9]\d*")
TWO = re.compile("[01],[01]")  # labels by position, or numbers with a decimal comma
NEARLY_ALL = 0.95  # share of the lists that are as long
RARE_SHARE = 0.1  # share of the rows up to which `-` is not a class
EACH = 2  # fewest mean rows per class where there are more


class LabelKind(NamedTuple):
    """The task type of a label column, the separator of several labels in a cell, the decimal sign of numbers, and of
    how many labels cells say 0 or 1 by position.
    """

    shape: str
    why: str
    separator: str = ""
    decimal: Literal[".", ","] = "."
    positions: int = 0


def with_label_kind(layout: Layout, evidence: Evidence) -> Layout:
    """The layout with the type of its label, and with how cells have it. Raises UserError as `label_kind` does."""
    if not layout.label:
        return layout
    kind, shape = label_kind(evidence, layout.label), evidence.shape
    reasons = {**layout.reasons, "shape": "given" if shape else kind.why}
    layout = replace(layout, shape=shape or kind.shape, separator=kind.separator, decimal=kind.decimal, reasons=reasons)
    cells = [as_text(cell).strip() for name in layout.label for cell in evidence.filled(name)]
    if layout.shape == CLASSES:
        return replace(layout, no_label=_sign_of_none(cells))
    if layout.shape != SEVERAL or len(layout.label) > 1:
        return layout
    if kind.positions:
        names = {str(place): f"label {place + 1}" for place in range(kind.positions)}
        reasons["labels"] = "by position in the lists; labels=FILE names them"
        return replace(layout, by_position=True, names=names)
    if layout.separator or evidence.facts[layout.label[0]].kind == "list":
        return layout
    return replace(layout, separator=separator_in(cells) or ("," if any("," in text for text in cells) else " "))


def _sign_of_none(cells: Sequence[str]) -> str:
    """`-` where it means no class, as in SNLI: it is rare, among words; else empty."""
    counts = Counter(cells)
    rare = 0 < counts["-"] < RARE_SHARE * counts.total()
    words = all(any(map(str.isalpha, label)) for label in counts if label != "-")
    return "-" if rare and words and len(counts) > 2 else ""


def label_kind(evidence: Evidence, label: Sequence[str]) -> LabelKind:
    """Infers what label columns hold, with what the user said. Raises Ambiguous where two readings fit."""
    if len(label) > 1:
        return LabelKind(SEVERAL, f"{len(label)} label columns")
    fact, shape, decimal = evidence.facts[label[0]], evidence.shape, evidence.decimal
    column, where = evidence.columns[label[0]], f"{evidence.file}: the column '{label[0]}'"
    cells = [as_text(cell).strip() for cell in evidence.filled(label[0])]
    count = positions_in(column)
    if count and shape is None and any(map(TWO.fullmatch, cells)):
        _ask_commas(cells, where, shape)
    if count and shape in (None, SEVERAL):
        return LabelKind(SEVERAL, f"0 or 1 for each of {count} labels", positions=count)
    if fact.kind == "list":
        _require_labels(column, where)
        return LabelKind(SEVERAL, "lists of labels")
    reading = reading_of_commas([cell for cell in column[:ROWS_LOOKED_AT] if isinstance(cell, str)])
    if reading == "unclear" and decimal is None and shape in (None, NUMBER):
        _ask_commas(cells, where, shape)
    if reading == "labels" and decimal is None:
        return LabelKind(SEVERAL, "labels by number with ',' between them", separator=",")
    sign: Literal[".", ","] = decimal or ("," if reading == "decimal" else ".")
    commas = {"decimal": ", with a decimal comma", "thousands": ", with commas between thousands", "unclear": ""}
    if fact.kind == "number" and (not fact.whole or fact.distinct > FEW_NUMBERS or reading in commas):
        if shape is None and (kind := _of_classes(fact, cells, where)):
            return kind
        what = f"{fact.distinct} different numbers" + ("" if fact.whole else ", some not whole")
        return LabelKind(NUMBER, what + commas.get(reading, ""), decimal=sign)
    if shape is None and _are_apart(cells):
        choices = [(f"shape={SEVERAL}", "labels with a space between them"), (f"shape={CLASSES}", "names of two words")]
        raise Ambiguous(f"{where} has cells that can be one label or several", choices)
    if separator := separator_in(cells):
        return LabelKind(SEVERAL, f"labels with '{separator}' between them", separator=separator)
    if shape is None and fact.why == DATES:
        choices = [(other.setting, other.what) for other in label_candidates(evidence, label)[:MOST_OFFERED]]
        choices.append((f"shape={CLASSES}", f"each of the {so_many(fact.distinct, 'date')} is a class"))
        raise Ambiguous(f"{where} has dates", choices)
    if shape is None and fact.distinct > MANY_VALUES * fact.filled and fact.filled > FEW_NUMBERS:
        raise UserError(
            f"{where} has {so_many(fact.distinct, 'value')} in {so_many(fact.filled)}: too many classes",
            "Name another with label=COLUMN, or set shape=classification",
        )
    return LabelKind(CLASSES, f"{so_many(fact.distinct, 'different value')}", decimal=sign)


def marks_in(cell: Any) -> list[bool] | None:
    """Whether a cell has each label, where it says 0 or 1, or no or yes, for each by position; else None."""
    items = as_list(cell)
    if items is None and isinstance(cell, str) and POSITIONS.fullmatch(cell.strip()):
        items = re.split(r"[,;| ]\s*", cell.strip())
    signs = [as_text(item).strip().lower().removesuffix(".0") for item in items or ()]
    if not signs or not {*signs} <= signs_of_no() | signs_of_yes():
        return None
    return [sign in signs_of_yes() for sign in signs]


def positions_in(cells: Sequence[Any]) -> int:
    """How many labels cells have 0 or 1 for, by their length, which nearly all share; 0 for other cells."""
    filled = (cell for cell in cells[:ROWS_LOOKED_AT] if not is_missing(cell) and as_list(cell) != [])
    lengths = Counter(len(marks_in(cell) or ()) for cell in filled)
    length, count = lengths.most_common(1)[0] if lengths else (0, 0)
    return length if length > 1 and count >= NEARLY_ALL * lengths.total() else 0


def _require_labels(cells: Sequence[Any], where: str) -> None:
    """Raises UserError for lists of as many items in all rows, some of which are equal or not whole: no labels."""
    lists = [list(map(as_text, found)) for cell in cells[:ROWS_LOOKED_AT] if (found := as_list(cell))]
    odd = any(len({*items}) < len(items) or any(map(FRACTION.fullmatch, items)) for items in lists)
    if len({*map(len, lists)}) == 1 and len(lists[0]) > 1 and odd:
        raise UserError(
            f"{where} has {len(lists[0])} values in each row, {short(lists[0])}, not labels",
            "Write the names of its labels, or 0 or 1 for each label",
        )


def separator_in(cells: Sequence[str]) -> str:
    """The separator of labels in a cell: parts recur in other combinations, so there are fewer than cells."""
    first = cells[:ROWS_LOOKED_AT]
    for separator in SEPARATORS:
        many = [text for text in first if separator in text]
        if len(many) < 0.05 * len(first) or len(many) < 2:
            continue
        parts = Counter(part.strip() for text in first for part in text.split(separator))
        if len(parts) < len(set(first)) and all(len(part.split()) <= 4 for part in parts) and min(map(len, parts)) > 0:
            return separator
    return ""


def _are_apart(cells: Sequence[str]) -> bool:
    alone = {cell for cell in cells if " " not in cell}
    several = [cell.split() for cell in cells if " " in cell]
    parts = Counter(part for words in several for part in words)
    return (
        len(several) > 0.05 * len(cells) and sum(n for part, n in parts.items() if part in alone) > 0.6 * parts.total()
    )


def _ask_commas(cells: Sequence[str], where: str, shape: str | None) -> None:
    example, values = next(cell for cell in cells if "," in cell), len({*cells})
    choices = [
        ("decimal=,", f"'{example}' has a decimal comma"),
        ("decimal=.", f"'{example}' has a comma between thousands"),
    ]
    if shape is None:
        how = "0 or 1 for each of two labels" if all(map(TWO.fullmatch, cells)) else "two labels by number"
        choices.append((f"shape={SEVERAL}", f"'{example}' are {how}"))
    if shape is None and values <= FEW_NUMBERS:
        choices.append((f"shape={CLASSES}", f"each of the {so_many(values, 'value')} is a class"))
    raise Ambiguous(f"{where} has commas that can mean several things", choices)


def _of_classes(fact: ColumnFacts, cells: Sequence[str], where: str) -> LabelKind | None:
    """The kind of numbers that may be classes: by the column's name, else the user is asked; None for amounts.

    They are all whole numbers from 0 or 1 up to the largest, or few that are not whole, such as versions and codes;
    each has several rows.
    """
    if fact.filled < EACH * fact.distinct or fact.whole == (fact.distinct <= FEW_NUMBERS) or fact.distinct < 2:
        return None
    if fact.whole:
        numbers = {int(float(cell)) for cell in cells if cell.replace(".0", "").isdigit()}
        first = min(numbers, default=-1)
        if first not in (0, 1) or len(numbers) < 0.95 * (max(numbers) - first + 1):
            return None
    classes = LabelKind(CLASSES, f"{fact.distinct} classes by number")
    words = {*name_words_of(fact.name)}
    if fact.whole and words & {*word_list("label_of_classes")}:
        return classes
    if words & {*word_list("label_of_degrees")}:
        return LabelKind(NUMBER, f"{fact.distinct} different numbers")
    choices = [(f"shape={CLASSES}", classes.why), (f"shape={NUMBER}", "a number")]
    raise Ambiguous(f"{where} has {so_many(fact.distinct, 'number')} that can be classes or an amount", choices)
