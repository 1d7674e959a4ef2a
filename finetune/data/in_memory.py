"""Rows in memory (a DataFrame, a Dataset, a list of dictionaries) as columns of plain values, split by split."""

import math
import re
import warnings
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
    found: dict[str, Columns] = {}
    origin: dict[str, str] = {}
    for name, rows in given.items():
        split = "train" if len(given) == 1 else _split_of(str(name))
        if split in found:
            raise UserError(
                f"the splits '{origin[split]}' and '{name}' could both be {split}", f"Leave one out, or name it {split}"
            )
        if split:
            found[split], origin[split] = columns_in(rows), str(name)
    if "train" not in found:
        listed = ", ".join(map(str, given))
        raise UserError(f"none of the splits is for training (they are {listed})", "Name one of them train")
    return found


def columns_in(given: Any) -> Columns:
    """The columns of some rows. Raises UserError as `splits_in` does."""
    if hasattr(given, "iloc") and hasattr(given, "columns"):  # a pandas DataFrame, checked without importing pandas
        raw = _of_frame(given)
        names: dict[str, Any] = {
            str(name): [] for name, cells in raw.items() if _are_names(cells, str(given[name].dtype))
        }
    elif hasattr(given, "features") and hasattr(given, "with_format"):
        raw, names = _of_dataset(given), _class_names(given.features)
    elif hasattr(given, "to_pydict"):  # a pyarrow Table
        raw, names = given.to_pydict(), {}
    elif isinstance(given, Mapping):
        raw, names = _of_mapping(given), {}
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        kind = "None" if given is None else f"a value of type {type(given).__name__}"
        raise UserError(f"{kind} is not rows", f"Give {KINDS}, a path, or a recipe's name")
    else:
        raw, names = _of_rows(list(given)), {}
    cells = {}
    for name, column in _by_text(raw).items():
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


def _of_frame(frame: Any) -> dict[Any, list[Any]]:
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise UserError("the DataFrame's columns have several levels (MultiIndex)", "Give each column one name")
    names = list(frame.columns)
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise UserError(f"the DataFrame has two columns called {shown_value(twice[0])}", "Rename or drop one")
    return {name: frame.iloc[:, number].astype(object).tolist() for number, name in enumerate(names)}


def _are_names(cells: Sequence[Any], dtype: str) -> bool:
    """Whether numbers are names: those of a category, and texts that recur."""
    first = next((cell for cell in cells if isinstance(cell, str)), "")
    if dtype != "category" and as_number(first) is None:
        return False
    there = [cell for cell in cells if not (cell is None or type(cell).__name__ in MISSING)]
    some = [cell for cell in there if isinstance(cell, str | int | float) and cell == cell]
    texts = all(isinstance(cell, str) for cell in there) and 2 * len({*some}) <= len(some)
    return bool(some) and (dtype == "category" or texts) and all(as_number(cell) is not None for cell in some)


def _of_dataset(given: Any) -> dict[str, list[Any]]:
    if not hasattr(given, "__len__"):  # an IterableDataset
        return _of_rows(list(given.with_format(None)))
    found: dict[str, list[Any]] = given.with_format("arrow")[:].to_pydict()
    return found


def _class_names(features: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """The names of columns of classes, or of lists of classes."""
    kinds = {name: getattr(kind, "feature", kind) for name, kind in (features or {}).items()}
    return {name: list(kind.names) for name, kind in kinds.items() if getattr(kind, "names", None)}


def _of_mapping(given: Mapping[Any, Any]) -> dict[Any, list[Any]]:
    for name, cells in given.items():
        if isinstance(cells, str | bytes | Mapping) or not isinstance(cells, Iterable):
            raise UserError(
                f"the column {shown_value(name)} is a {type(cells).__name__}, not a list",
                "Give a list, even for one row",
            )
    found = {name: list(cells) for name, cells in given.items()}
    if len(sizes := {len(cells) for cells in found.values()}) > 1:
        raise UserError(f"the columns have {min(sizes)} to {max(sizes)} cells", "Give lists of equal length")
    return found


def _of_rows(rows: list[Any]) -> dict[Any, list[Any]]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise UserError(
                f"row {number} is of type {type(row).__name__}, not a dictionary by column name",
                'Give rows such as {"text": "a text", "label": "its label"}, or a DataFrame',
            )
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _by_text(raw: Mapping[Any, list[Any]]) -> dict[str, list[Any]]:
    """The columns with names that are texts, so that a column 0 is called `0`."""
    found = {str(name): cells for name, cells in raw.items()}
    if len(found) < len(raw):
        twice = next(name for name in raw if not isinstance(name, str) and str(name) in raw)
        raise UserError(f"two columns are called {shown_value(str(twice))}, once not as a text", "Rename one")
    return found


def _plain_column(name: str, cells: Sequence[Any], *, unknown: bool) -> list[Any]:
    """The cells as plain values; where -1 is an `unknown` class (the convention of `datasets`), it is missing."""
    found = []
    for row, cell in enumerate(cells, start=1):
        try:
            found.append(cell if type(cell) in PLAIN else plain_cell(cell))
        except TypeError:
            raise UserError(
                f"row {row} has a value of type {type(cell).__name__} in the column '{name}'",
                "Give texts, numbers, dates, or lists and dictionaries of these",
            ) from None
    return [None if type(cell) is int and cell == -1 else cell for cell in found] if unknown else found


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
    return _of_a_library(cell)


def _of_a_library(cell: Any) -> Any:
    """A number, text or array of numpy, or a subclass of a plain type, as a plain value."""
    if kind := next(
        (kind for kind in (bool, str, int, float) if isinstance(cell, kind) and type(cell) is not kind), None
    ):
        return plain_cell(kind(cell))
    if not hasattr(cell, "dtype") or not hasattr(cell, "tolist"):
        raise TypeError(type(cell).__name__)
    if getattr(cell, "ndim", 0):
        return [plain_cell(value) for value in cell.tolist()]
    value = cell.tolist()  # of a narrow float the shortest digits: 3.7 and not 3.700000047
    if type(value) is type(cell):
        raise TypeError(type(cell).__name__)
    return plain_cell(float(str(cell)) if isinstance(value, float) else value)
