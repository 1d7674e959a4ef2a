"""Rows in memory (a DataFrame, a Dataset, a list of dictionaries) as columns of plain values, split by split."""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from finetune.data.files import split_named
from finetune.data.values import as_number
from finetune.errors import UserError, shown_value

MISSING = ("NAType", "NaTType")  # of pandas, which is not imported here
LARGEST = 2**63 - 1  # a whole number that a column of numbers holds
KINDS = "a DataFrame, a datasets.Dataset or DatasetDict, a list of dictionaries, or a dictionary of lists"


class ColumnLeftOut(UserWarning):
    """A column of rows in memory has a value that no file can hold."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The cells of each column, in order, and the class names of columns that hold their numbers; none of numbers that
    are names themselves.
    """

    cells: dict[str, list[Any]]
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self.cells.values()), []))


def splits_in(given: Any) -> dict[str, Columns]:
    """The columns of each split (train, dev, test); rows without splits are train.

    Raises UserError for what is not rows, and for rows that have no columns. A column of objects of unknown kinds is
    left out with a warning.
    """
    if not (isinstance(given, Mapping) and given and all(map(_is_table, given.values()))):
        return {"train": columns_in(given)}
    splits: dict[str, tuple[str, Any]] = {}
    for name, rows in given.items():
        split = "train" if len(given) == 1 else split_named(str(name))
        if split in splits:
            raise UserError(
                f"the splits '{splits[split][0]}' and '{name}' could both be {split}",
                f"Leave one out, or name it {split}",
            )
        if split:
            splits[split] = str(name), rows
    if "train" not in splits:
        listed = ", ".join(map(str, given))
        raise UserError(f"none of the splits is for training (they are {listed})", "Name one of them train")
    return {split: columns_in(rows) for split, (_, rows) in splits.items()}


def columns_in(given: Any) -> Columns:
    """The columns of some rows. Raises UserError as `splits_in` does."""
    names: dict[str, Sequence[str]] = {}
    if hasattr(given, "iloc") and hasattr(given, "columns"):  # a pandas DataFrame, checked without importing pandas
        raw = _of_frame(given)
        names = {str(name): [] for name, cells in raw.items() if _are_names(cells, str(given[name].dtype))}
    elif hasattr(given, "features") and hasattr(given, "with_format"):  # a Dataset, or an IterableDataset
        kinds = {name: getattr(kind, "feature", kind) for name, kind in (given.features or {}).items()}
        names = {name: list(kind.names) for name, kind in kinds.items() if getattr(kind, "names", None)}
        raw = (
            given.with_format("arrow")[:].to_pydict()
            if hasattr(given, "__len__")
            else _of_rows(list(given.with_format(None)))
        )
    elif isinstance(given, Mapping):
        raw = _of_mapping(given)
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        kind = "None" if given is None else f"a value of type {type(given).__name__}"
        raise UserError(f"{kind} is not rows", f"Give {KINDS}, a path, or a recipe's name")
    else:
        raw = _of_rows(list(given))
    twice = [name for name, count in Counter(map(str, raw)).items() if count > 1]
    if twice:
        raise UserError(f"two columns are called {shown_value(twice[0])}, once not as a text", "Rename one")
    columns = {}
    for name, cells in raw.items():
        try:
            columns[str(name)] = _plain_column(str(name), cells, unknown=bool(names.get(str(name))))
        except UserError as error:
            # A column of images or other objects is hardly one to read; in one of texts or numbers a cell is wrong.
            if len(raw) == 1 or any(type(cell) in (str, bool, int, float) for cell in cells):
                raise
            warnings.warn(f"{error}; the column is left out", ColumnLeftOut, stacklevel=2)
    if not any(columns.values()):
        raise UserError("the data has no rows", "Give it at least one")
    return Columns(cells=columns, names=names)


def _is_table(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return len(given) > 0 and all(isinstance(row, Mapping) for row in given)
    return isinstance(given, Mapping) or hasattr(given, "iloc") or hasattr(given, "with_format")


def _of_frame(frame: Any) -> dict[Any, list[Any]]:
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise UserError("the DataFrame's columns have several levels (MultiIndex)", "Give each column one name")
    for name, count in Counter(frame.columns).items():
        if count > 1:
            raise UserError(f"the DataFrame has two columns called {shown_value(name)}", "Rename or drop one")
    return {name: frame[name].astype(object).tolist() for name in frame.columns}


def _are_names(cells: Sequence[Any], dtype: str) -> bool:
    """Whether numbers are names: those of a category, and texts that recur."""
    there = [cell for cell in cells if not (cell is None or type(cell).__name__ in MISSING or cell != cell)]
    if not there or not all(isinstance(cell, str | int | float) and as_number(cell) is not None for cell in there):
        return False
    return dtype == "category" or (all(isinstance(cell, str) for cell in there) and 2 * len({*there}) <= len(there))


def _of_mapping(given: Mapping[Any, Any]) -> dict[Any, list[Any]]:
    for name, cells in given.items():
        if isinstance(cells, str | bytes | Mapping) or not isinstance(cells, Iterable):
            raise UserError(
                f"the column {shown_value(name)} is a {type(cells).__name__}, not a list",
                "Give a list, even for one row",
            )
    columns = {name: list(cells) for name, cells in given.items()}
    if len(sizes := {len(cells) for cells in columns.values()}) > 1:
        raise UserError(f"the columns have {min(sizes)} to {max(sizes)} cells", "Give lists of equal length")
    return columns


def _of_rows(rows: list[Any]) -> dict[Any, list[Any]]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise UserError(
                f"row {number} is of type {type(row).__name__}, not a dictionary by column name",
                'Give rows such as {"text": "a text", "label": "its label"}, or a DataFrame',
            )
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _plain_column(name: str, cells: Sequence[Any], *, unknown: bool) -> list[Any]:
    """The cells as plain values; where -1 is an `unknown` class (the convention of `datasets`), it is missing."""
    plain: list[Any] = []
    for row, cell in enumerate(cells, start=1):
        try:
            value = plain_cell(cell)
        except TypeError:
            raise UserError(
                f"row {row} has a value of type {type(cell).__name__} in the column '{name}'",
                "Give texts, numbers, dates, or lists and dictionaries of these",
            ) from None
        plain.append(None if unknown and value == -1 else value)
    return plain


def plain_cell(cell: Any) -> Any:
    """A cell as None, a text, a number, a list or a dictionary. Raises TypeError for what is none of these."""
    if hasattr(cell, "dtype") and hasattr(cell, "tolist"):  # numpy's, or like these
        plain = cell.tolist()
        cell = float(str(cell)) if isinstance(plain, float) else plain  # 3.7 and not 3.700000047
    match cell:
        case None | str() | bool():
            return cell
        case float():
            return None if math.isnan(cell) else cell
        case int():
            return cell if abs(cell) <= LARGEST else str(cell)
        case Mapping():
            return {str(key): plain_cell(value) for key, value in cell.items()}
        case list() | tuple():
            return [plain_cell(value) for value in cell]
        case set() | frozenset():
            return sorted(map(plain_cell, cell), key=str)
        case Decimal() | UUID() | PurePath():
            return str(cell)
    if type(cell).__name__ in MISSING:
        return None
    if isinstance(cell, date | time):
        return cell.isoformat()
    raise TypeError(type(cell).__name__)
