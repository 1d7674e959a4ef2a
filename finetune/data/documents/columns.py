"""The column of texts in a table, and its cells, as a stream."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from finetune.data.column_types import ColumnFacts, facts_of
from finetune.data.file_format import FileFormat
from finetune.data.formats import parquet
from finetune.data.issues import REJECTED
from finetune.data.records import SURROGATE, Record
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError, nearest

ROWS_SEEN = 1_000  # rows that the column of texts is found in
USUAL = "text"  # the column's name where its cells alone do not decide
NAMES_SHOWN = 8


def cells_of(path: Path, form: FileFormat, column: str = "") -> Iterator[tuple[str, str]]:
    """Yields the place (`line 3`) and text of each cell of a column, by default the only one of texts.

    The items of a cell that is a list are lines. Raises UserError where there is no such column, or several, and for
    a row that cannot be read.
    """
    name = column_of(path, form, column)
    unit = "line" if form.format.text else "row"
    for record in _records_with(name, path, form):
        place = f"{unit} {record.line:,}"
        if record.fault and record.fault.issue == REJECTED:
            continue
        if record.fault:
            raise UserError(f"{path}:{record.line}: {record.fault.what}", record.fault.issue.remedy.partition(";")[0])
        yield place, _text(path, record, name)


def column_of(path: Path, form: FileFormat, column: str = "") -> str:
    """The name of the column of texts, which may be given."""
    first = [record.values for record in islice(form.format.read(path, form), ROWS_SEEN) if not record.fault]
    names = list(dict.fromkeys(name for values in first for name in values))
    if not names:
        raise UserError(f"{path}: has no rows that can be read", "Give it a header and rows")
    listed = ", ".join(names[:NAMES_SHOWN])
    if column and column not in names:
        raise UserError(
            f"{path}: has no column '{column}' (its columns: {listed})", f"{nearest(column, names)}Name one: text=NAME"
        )
    return column or only_text(path, {name: facts_of(name, [values.get(name) for values in first]) for name in names})


def only_text(path: Path, facts: Mapping[str, ColumnFacts]) -> str:
    """The only column, else the only one of texts, else `text`. Raises UserError where there is none, or several."""
    names = list(facts)
    texts = names if len(names) == 1 else [name for name in names if facts[name].kind == "text"]
    if len(texts) == 1 or (not texts and USUAL in names):
        return texts[0] if texts else USUAL
    listed = ", ".join((texts or names)[:NAMES_SHOWN])
    what = f"several columns of texts ({listed})" if texts else f"no column of texts (among {listed})"
    raise UserError(f"{path}: has {what}", f"Name the one to read: text={(texts or names)[0]}")


def _records_with(column: str, path: Path, form: FileFormat) -> Iterator[Record]:
    """All records, with this column alone where that is faster."""
    return parquet.read(path, form, [column]) if form.format is parquet.FORMAT else form.format.read(path, form)


def _text(path: Path, record: Record, name: str) -> str:
    """A cell as text. Raises UserError for one that is an object, or has a lone surrogate."""
    cell = record.values.get(name)
    if isinstance(cell, list):
        text = "\n".join(as_text(item) for item in cell if not _is_object(item))
    else:
        text = "" if is_missing(cell) else as_text(cell)
    if _is_object(cell):
        what, remedy = f"the cell of '{name}' is an object, not a text", "Name another column: text=NAME"
    elif not text.isascii() and SURROGATE.search(text):
        what, remedy = f"the cell of '{name}' has bytes of another encoding", "Save all of it in one encoding"
    else:
        return text
    raise UserError(f"{path}:{record.line}: {what}", remedy)


def _is_object(cell: Any) -> bool:
    return isinstance(cell, dict)
