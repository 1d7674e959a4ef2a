"""Files are written here, and read again by pandas, the csv module or json: nothing of the tool takes part."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .layout import Layout, Row, Text, Written


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a table is written: `quoting` is one of the csv module's, QUOTE_NONE writes cells as they are."""

    delimiter: str = ","
    quoting: int = csv.QUOTE_MINIMAL
    header: bool = True
    ends: str = "\n"
    encoding: str = "utf-8"


COMMAS = Dialect()
TABS = Dialect(delimiter="\t", quoting=csv.QUOTE_NONE)
EXCEL = Dialect(delimiter=";", ends="\r\n", encoding="utf-8-sig")  # as a German Excel saves CSV
Columns = Mapping[str, Sequence[str]]


def put(path: Path, text: str, *, encoding: str = "utf-8") -> Path:
    """Writes a text with its line ends as they are, gzipped where the name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def put_table(path: Path, columns: Columns, dialect: Dialect = COMMAS) -> Path:
    """A table; without a header the names of the columns are left out."""
    rows = [*([list(columns)] if dialect.header else []), *zip(*columns.values(), strict=True)]
    if dialect.quoting == csv.QUOTE_NONE:
        assert not any(sign in cell for row in rows for cell in row for sign in (dialect.delimiter, "\n", "\r"))
        text = "".join(dialect.delimiter.join(row) + dialect.ends for row in rows)
    else:
        text = _written(rows, dialect)
    return put(path, text, encoding=dialect.encoding)


def _written(rows: Iterable[Sequence[str]], dialect: Dialect) -> str:
    file = io.StringIO(newline="")
    quoting: Any = dialect.quoting
    csv.writer(file, delimiter=dialect.delimiter, quoting=quoting, lineterminator=dialect.ends).writerows(rows)
    return file.getvalue()


def put_lines(path: Path, values: Iterable[Any]) -> Path:
    """JSON Lines."""
    return put(path, "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def cells_of(path: Path, dialect: Dialect = COMMAS) -> list[list[str]]:
    """The cells below the header, by pandas."""
    frame = pd.read_csv(
        path,
        sep=dialect.delimiter,
        quoting=dialect.quoting,
        header=0 if dialect.header else None,
        encoding=dialect.encoding,
        dtype=str,
        keep_default_na=False,
        index_col=False,
    )
    return [list(row) for row in frame.itertuples(index=False, name=None)]


def objects_of(path: Path) -> list[Any]:
    """The values of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def texts(rows: Iterable[tuple[str, str | None, str]], value: Callable[[str], Any] = str.strip) -> list[Row]:
    """A row for each (text, pair, label); those without a text or a label are left out."""
    return [
        Text(text, pair, value(label))
        for text, pair, label in rows
        if text.strip() and label.strip() and (pair is None or pair.strip())
    ]


def table(
    name: str,
    kind: int,
    language: str,
    columns: Columns,
    *,
    text: str = "text",
    pair: str = "",
    label: str = "label",
    value: Callable[[str], Any] = str.strip,
    file: str = "data.csv",
    dialect: Dialect = COMMAS,
    must_ask: bool = False,
    answers: Mapping[str, str] | None = None,
    least: int = 40,
) -> Layout:
    """A table whose columns `text` (and `pair`) and `label` hold what is to be learned."""
    places = [list(columns).index(column) for column in (text, pair, label) if column]

    def picked(rows: Iterable[Sequence[str]]) -> list[Row]:
        cells = [[row[place] for place in places] for row in rows]
        return texts(((row[0], row[1] if pair else None, row[-1]) for row in cells), value)

    def write(folder: Path) -> Written:
        path = put_table(folder / file, columns, dialect)
        reread = picked(cells_of(path, dialect))
        return Written(path=path, rows=picked(zip(*columns.values(), strict=True)), reread=reread)

    return Layout(
        name=name,
        kind=kind,
        language=language,
        write=write,
        must_ask=must_ask,
        least=least,
        answers=answers if answers is not None else _named(columns, text, pair, label, header=dialect.header),
    )


def _named(columns: Columns, text: str, pair: str, label: str, *, header: bool) -> dict[str, str]:
    """The settings that name the columns; where there is no header, columns have numbers."""
    names = list(columns)
    spelled = {name: name if header else f"column {number}" for number, name in enumerate(names, start=1)}
    inputs = ",".join(spelled[name] for name in (text, pair) if name)
    return {"text": inputs, "label": spelled[label]}


def lines(
    name: str,
    kind: int,
    language: str,
    objects: Sequence[Any],
    row: Callable[[Any], Row | None],
    *,
    file: str = "data.jsonl",
    answers: Mapping[str, str] | None = None,
    must_ask: bool = False,
) -> Layout:
    """JSON Lines (or, where the name ends in .json, one list), of whose objects `row` makes the rows."""

    def write(folder: Path) -> Written:
        if file.endswith(".json"):
            path = put(folder / file, json.dumps(objects, ensure_ascii=False, indent=1))
            again = json.loads(path.read_text(encoding="utf-8"))
        else:
            path = put_lines(folder / file, objects)
            again = objects_of(path)
        rows, reread = ([made for value in some if (made := row(value)) is not None] for some in (objects, again))
        return Written(path=path, rows=rows, reread=reread)

    return Layout(name=name, kind=kind, language=language, write=write, answers=answers or {}, must_ask=must_ask)


def mixed(columns: Columns, seed: int) -> dict[str, Sequence[str]]:
    """The columns in another order."""
    names = list(columns)
    random.Random(seed).shuffle(names)
    return {name: columns[name] for name in names}
