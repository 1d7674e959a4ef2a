"""Tables of the documents. tables.toml declares each: what it is made of, its columns, and the note below it.

A table of `files` reads those of results/benchmarks/. Its `rows` are a function of measured.py, or
the key of the first file under which they lie, with a name in `levels` for each level of keys. Without `files`, `rows`
is a function of records.py and takes all committed runs. Columns and notes are texts in the manner of `str.format`, of
a row and of the first file; `Text` says what else they can do.
"""

import json
import re
import string
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from finetune.analysis.table import markdown_table

Row = Mapping[str, Any]
RowsFunction = Callable[..., Iterable[Any]]
FOLDER = Path(__file__).parent
RESULTS = FOLDER.parents[1] / "results"
TABLES: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "tables.toml").read_text(encoding="utf-8"))
SUMMARIES: dict[str, Callable[[Any], Any]] = {"m": fmean, "d": median, "l": min, "h": max, "n": len}
SCALED = {  # unit of a format: factor, and what is written after the number
    "%": (100, " %"),
    "points": (100, ""),
    "MB": (1e-6, " MB"),
    "GB": (1e-9, " GB"),
    "minutes": (1 / 60, ""),
}


class Text(string.Formatter):
    """`str.format` with paths of plain keys (`{cpu[name]}`), summaries of lists, and units after a space.

    Summaries are the keys of SUMMARIES (`{seconds!d:.1f}` is a median). A unit is one of SCALED, or is written after
    the number: `{share:.1f %}`, `{seconds:.1f s}`. `(s)` in it makes a plural. A list is its mean, with its range in
    brackets if it has several values, and what is missing is empty.
    """

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """The value at the end of a path through mappings, lists and objects."""
        value: Any = kwargs
        for key in re.findall(r"[^\[\]]+", field_name):
            if isinstance(value, Mapping):
                value = value[key]
            else:
                value = value[int(key)] if isinstance(value, list) else getattr(value, key)
        return value, field_name

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """The summary of a list."""
        return SUMMARIES[conversion](value) if conversion else value

    def format_field(self, value: Any, format_spec: str) -> str:
        """A value with its unit."""
        if value is None or (isinstance(value, list) and not value):
            return ""
        if isinstance(value, list):
            mean, low, high = (self.format_field(summary(value), format_spec) for summary in (fmean, min, max))
            return f"{mean} ({low} to {high})" if len(value) > 1 else mean
        number, space, unit = format_spec.partition(" ")
        factor, after = SCALED.get(unit, (1, space + unit))
        after = after.replace("(s)", "s" if value != 1 else "")
        return format(value if factor == 1 else factor * value, number) + after


TEXT = Text()


def pooled(parts: Iterable[Row]) -> dict[str, Any]:
    """Mappings as one, of lists of what they have."""
    lists: dict[str, list[Any]] = {}
    for part in parts:
        for key, value in part.items():
            lists.setdefault(key, []).append(value)
    return {key: pooled(values) if isinstance(values[0], dict) else values for key, values in lists.items()}


def nested(tree: Any, levels: Sequence[str]) -> Iterator[Row]:
    """A row for each leaf of nested mappings, with its keys under the names of their levels."""
    if not levels:
        yield pooled(tree) if isinstance(tree, list) else tree
        return
    for key, inner in tree.items():
        for row in nested(inner, levels[1:]):
            yield {levels[0]: key, **row}


def grouped(draws: Mapping[str, Any], mark: str = " ") -> dict[tuple[str, ...], list[Any]]:
    """Repeated measurements by their keys without the last part, which counts them."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for key, value in draws.items():
        groups.setdefault(tuple(key.split(mark)[:-1]), []).append(value)
    return groups


def read(name: str) -> dict[str, Any]:
    """A file of results/benchmarks/."""
    file: dict[str, Any] = json.loads((RESULTS / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))
    return file


def table(name: str, *sources: Any, functions: Mapping[str, RowsFunction]) -> str:
    """The table of that name in tables.toml, of files as they are read or of all runs."""
    declared = TABLES[name]
    source = declared["rows"]
    if source in functions:
        rows = list(functions[source](*sources))
    else:
        rows = list(nested(sources[0][source], declared["levels"]))
    facts = {**(sources[0] if "files" in declared else {}), "first": rows[0]}
    head = [TEXT.vformat(title, (), facts) for title, _ in declared["columns"]]
    cells = [[TEXT.vformat(cell, (), row) for _, cell in declared["columns"]] for row in rows]
    note = TEXT.vformat(declared.get("note", ""), (), facts)
    return "\n\n".join(filter(None, [markdown_table(head, cells), note]))
