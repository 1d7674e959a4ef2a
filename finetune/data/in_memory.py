"""Rows in memory (a DataFrame, a Dataset, a list of dictionaries) as columns of plain values, split by split."""

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from finetune.data.files import NAMES, WORD
from finetune.data.values import as_number
from finetune.errors import UserError, shown_value

PLAIN = frozenset((str, bool, type(None)))
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
    if not _has_splits(given):
        return {"train": columns_in(given)}
    splits: dict[str, tuple[str, Any]] = {}
    for name, rows in given.items():
        split = "train" if len(given) == 1 else _split_of(str(name))
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
    raw, names = _raw_columns(given)
    by_text = {str(name): column for name, column in raw.items()}  # so that a column 0 is called `0`
    if len(by_text) < len(raw):
        twice = next(name for name in raw if not isinstance(name, str) and str(name) in raw)
        raise UserError(f"two columns are called {shown_value(str(twice))}, once not as a text", "Rename one")
    cells = {}
    for name, column in by_text.items():
        try:
            cells[name] = _plain_column(name, column, unknown=bool(names.get(name)))
        except UserError as error:
            # A column of images or other objects is hardly one to read; in one of texts or numbers a cell is wrong.
            if len(raw) == 1 or any(type(cell) in (str, bool, int, float) for cell in column):
                raise
            warnings.warn(f"{error}; the column is left out", ColumnLeftOut, stacklevel=2)
    if not any(cells.values()):
        raise UserError("the data has no rows", "Give it at least one")
    return Columns(cells=cells, names=names)


def _has_splits(given: Any) -> bool:
    """Whether this is a mapping of tables, such as a DatasetDict, and not of columns."""
    return isinstance(given, Mapping) and len(given) > 0 and all(map(_is_table, given.values()))


def _is_table(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return len(given) > 0 and all(isinstance(row, Mapping) for row in given)
    return isinstance(given, Mapping) or any(hasattr(given, name) for name in ("iloc", "with_format", "to_pydict"))


def _split_of(name: str) -> str:
    """The split of that name, as for the files of a folder: `validation` is dev; empty for any other name."""
    words = [word.lower() for word in WORD.findall(name)]
    return next((split for split, known in NAMES.items() if any(re.fullmatch(known, word) for word in words)), "")


def _raw_columns(given: Any) -> tuple[Mapping[Any, list[Any]], dict[str, Any]]:
    """The cells of each column as the container holds them, and the names of classes by column."""
    if hasattr(given, "iloc") and hasattr(given, "columns"):  # a pandas DataFrame, checked without importing pandas
        cells = _of_frame(given)
        return cells, {str(name): [] for name in cells if _are_names(cells[name], str(given[name].dtype))}
    if hasattr(given, "features") and hasattr(given, "with_format"):  # a Dataset, or an IterableDataset
        kinds = {name: getattr(kind, "feature", kind) for name, kind in (given.features or {}).items()}
        names = {name: list(kind.names) for name, kind in kinds.items() if getattr(kind, "names", None)}
        if hasattr(given, "__len__"):
            return given.with_format("arrow")[:].to_pydict(), names
        return _of_rows(list(given.with_format(None))), names
    if hasattr(given, "to_pydict"):  # a pyarrow Table
        return given.to_pydict(), {}
    if isinstance(given, Mapping):
        return _of_mapping(given), {}
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        kind = "None" if given is None else f"a value of type {type(given).__name__}"
        raise UserError(f"{kind} is not rows", f"Give {KINDS}, a path, or a recipe's name")
    return _of_rows(list(given)), {}


def _of_frame(frame: Any) -> dict[Any, list[Any]]:
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise UserError("the DataFrame's columns have several levels (MultiIndex)", "Give each column one name")
    columns = {name: frame.iloc[:, number] for number, name in enumerate(frame.columns)}
    if len(columns) < len(frame.columns):
        twice = next(name for name, count in Counter(frame.columns).items() if count > 1)
        raise UserError(f"the DataFrame has two columns called {shown_value(twice)}", "Rename or drop one")
    return {name: column.astype(object).tolist() for name, column in columns.items()}


def _are_names(cells: Sequence[Any], dtype: str) -> bool:
    """Whether numbers are names: those of a category, and texts that recur."""
    first = next((cell for cell in cells if isinstance(cell, str)), "")
    if dtype != "category" and as_number(first) is None:
        return False
    there = [
        cell
        for cell in cells
        if not (cell is None or type(cell).__name__ in MISSING or (isinstance(cell, float) and math.isnan(cell)))
    ]
    if not all(isinstance(cell, str | int | float) and as_number(cell) is not None for cell in there):
        return False
    texts = all(isinstance(cell, str) for cell in there) and 2 * len({*there}) <= len(there)
    return bool(there) and (dtype == "category" or texts)


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
            value = cell if type(cell) in PLAIN else plain_cell(cell)
        except TypeError:
            raise UserError(
                f"row {row} has a value of type {type(cell).__name__} in the column '{name}'",
                "Give texts, numbers, dates, or lists and dictionaries of these",
            ) from None
        plain.append(None if unknown and type(value) is int and value == -1 else value)
    return plain


def plain_cell(cell: Any) -> Any:
    """A cell as None, a text, a number, a list or a dictionary. Raises TypeError for what is none of these."""
    kind = type(cell)
    if kind in PLAIN:
        return cell
    if kind is float:
        return None if math.isnan(cell) else cell
    if kind is int:
        return cell if abs(cell) <= LARGEST else str(cell)
    if kind.__name__ in MISSING:
        return None
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, Decimal | UUID | PurePath):
        return str(cell)
    if isinstance(cell, Mapping):
        return {str(key): plain_cell(value) for key, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [plain_cell(value) for value in cell]
    if isinstance(cell, set | frozenset):
        return sorted((plain_cell(value) for value in cell), key=str)
    for base in (str, int, float):  # of which a library's types may be subclasses
        if isinstance(cell, base):
            return plain_cell(base(cell))
    value = cell.tolist() if hasattr(cell, "dtype") and hasattr(cell, "tolist") else cell  # numpy's, or like these
    if isinstance(value, list):
        return plain_cell(value)
    if type(value) is kind:
        raise TypeError(kind.__name__)
    return plain_cell(float(str(cell)) if isinstance(value, float) else value)  # 3.7 and not 3.700000047
