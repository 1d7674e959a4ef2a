"""Rows in memory (a DataFrame, a Dataset, a list of dictionaries) as columns of plain values, and as Parquet files that
a run reads as any file: equal rows are one file.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from uuid import UUID

from finetune.data.atomic import require_no_links, written_file
from finetune.data.files import split_named
from finetune.data.formats.parquet import schema_of, tables_of
from finetune.data.paths import STORE, require_own_folder
from finetune.data.values import as_number
from finetune.errors import UserError, shown_value

MISSING = ("NAType", "NaTType")  # of pandas, which is not imported here
LARGEST = 2**63 - 1  # a whole number that a column of numbers holds
KINDS = "a DataFrame, a datasets.Dataset or DatasetDict, a list of dictionaries, or a dictionary of lists"
FILE, FOLDER = "data.parquet", "dataset"  # of one split, of several
DIGITS = 16  # of the hash that names their folder


class ColumnLeftOut(UserWarning):
    """A column of rows in memory has a value that no file can hold."""


class Columns(NamedTuple):
    """The cells of each column, in order, and the class names of columns that hold their numbers; none of numbers that
    are names themselves.
    """

    cells: dict[str, list[Any]]
    names: Mapping[str, Sequence[str]] = {}


def splits_in(rows_or_splits: Any) -> dict[str, Columns]:
    """The columns of each split (train, dev, test); rows without splits are train.

    Raises UserError for a value that is not rows, and for rows without columns. A column of objects of unknown kinds is
    left out with a warning.
    """
    if not (isinstance(rows_or_splits, Mapping) and rows_or_splits and all(map(_is_table, rows_or_splits.values()))):
        return {"train": columns_in(rows_or_splits)}
    splits: dict[str, str] = {}
    for name in map(str, rows_or_splits):
        split = "train" if len(rows_or_splits) == 1 else split_named(name)
        if split in splits:
            what = f"the splits '{splits[split]}' and '{name}' could both be {split}"
            raise UserError(what, f"Leave one out, or name it {split}")
        if split:
            splits[split] = name
    if "train" not in splits:
        listed = ", ".join(map(str, rows_or_splits))
        raise UserError(f"none of the splits is for training (they are {listed})", "Name one of them train")
    rows = {str(name): table for name, table in rows_or_splits.items()}
    return {split: columns_in(rows[name]) for split, name in splits.items()}


def columns_in(table: Any) -> Columns:
    """The columns of some rows. Raises UserError as `splits_in` does."""
    names: dict[str, Sequence[str]] = {}
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # a pandas DataFrame, checked without importing pandas
        if getattr(table.columns, "nlevels", 1) > 1 or not table.columns.is_unique:
            raise UserError("two of the DataFrame's columns have one name, or names have levels", "Rename them")
        raw = {name: table[name].astype(object).tolist() for name in table.columns}
        names = {str(name): [] for name, cells in raw.items() if _are_names(cells, str(table[name].dtype))}
    elif hasattr(table, "features") and hasattr(table, "with_format"):  # a Dataset, or an IterableDataset
        kinds = {name: getattr(kind, "feature", kind) for name, kind in (table.features or {}).items()}
        names = {name: list(kind.names) for name, kind in kinds.items() if getattr(kind, "names", None)}
        sized = hasattr(table, "__len__")
        raw = table.with_format("arrow")[:].to_pydict() if sized else _of_rows(list(table.with_format(None)))
    elif isinstance(table, Mapping):
        raw = {name: _cells(name, cells) for name, cells in table.items()}
        if len(sizes := {*map(len, raw.values())}) > 1:
            raise UserError(f"the columns have {min(sizes)} to {max(sizes)} cells", "Give lists of equal length")
    elif isinstance(table, str | bytes) or not isinstance(table, Iterable):
        kind = "None" if table is None else f"a value of type {type(table).__name__}"
        raise UserError(f"{kind} is not rows", f"Give {KINDS}, a path, or a recipe's name")
    else:
        raw = _of_rows(list(table))
    if len({*map(str, raw)}) < len(raw):
        raise UserError(f"two of the columns {', '.join(map(shown_value, raw))} have one name", "Rename one")
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
    return Columns(columns, names)


def _is_table(table: Any) -> bool:
    if isinstance(table, list | tuple):
        return len(table) > 0 and all(isinstance(row, Mapping) for row in table)
    return isinstance(table, Mapping) or hasattr(table, "iloc") or hasattr(table, "with_format")


def _are_names(cells: Sequence[Any], dtype: str) -> bool:
    """Whether numbers are names: of pandas' type category, or texts that recur."""
    filled = [cell for cell in cells if not (cell is None or type(cell).__name__ in MISSING or cell != cell)]
    if not filled or not all(isinstance(cell, str | int | float) and as_number(cell) is not None for cell in filled):
        return False
    return dtype == "category" or (all(isinstance(cell, str) for cell in filled) and 2 * len({*filled}) <= len(filled))


def _cells(name: Any, cells: Any) -> list[Any]:
    if isinstance(cells, str | bytes | Mapping) or not isinstance(cells, Iterable):
        what = f"the column {shown_value(name)} is a {type(cells).__name__}, not a list"
        raise UserError(what, "Give a list, even for one row")
    return list(cells)


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
    """A cell as None, a text, a number, a list or a dictionary. Raises TypeError for any other type."""
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
        case date() | time() if type(cell).__name__ not in MISSING:
            return cell.isoformat()
    if type(cell).__name__ in MISSING:
        return None
    raise TypeError(type(cell).__name__)


def stored(splits: Mapping[str, Columns], folder: Path) -> Path:
    """The file of these rows under `folder`, or with several splits their folder; written unless it is there.

    Raises UserError where it cannot be written.
    """
    require_own_folder(folder)
    digest = hashlib.sha256()
    for split, (cells, names) in sorted(splits.items()):
        for part in ([split, list(cells), names], *cells.values()):
            digest.update(json.dumps(part).encode())
    entry = folder / digest.hexdigest()[:DIGITS]
    if folder.is_symlink() or entry.exists():
        require_no_links(folder if folder.is_symlink() else entry)
    if len(splits) == 1:
        _write(entry / FILE, splits["train"])
        return entry / FILE
    for split, columns in splits.items():
        _write(entry / FOLDER / f"{split}.parquet", columns)
    return entry / FOLDER


def data_name_of(file: Path) -> str:
    """What messages call a file of data: its path, and `the data` if it was stored here from rows in memory."""
    return "the data" if STORE in (folder.name for folder in list(file.parents)[1:3]) else str(file)


def _write(file: Path, columns: Columns) -> None:
    """Writes a file that is not there, without compression, which one of many equal rows would be suspected for; with
    the names of classes as the `datasets` library stores them.
    """
    import pyarrow.parquet as pq

    if file.is_file():
        return
    names = list(columns.cells)
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns.cells.values(), strict=True)]
    features = {name: {"names": classes, "_type": "ClassLabel"} for name, classes in columns.names.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})} if features else {}
    schema = schema_of(rows, names).with_metadata(metadata)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})", "Choose another folder") from error
    with written_file(file) as scratch, pq.ParquetWriter(scratch, schema, compression="none") as writer:
        for table in tables_of(rows, schema):
            writer.write_table(table)
