"""JSON Lines: one object per line, its keys the columns' names."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.file_start import SAMPLE_CHARS, FileStart
from finetune.data.formats.labelling_tools import plain_row
from finetune.data.issues import JSON, REJECTED, Finding
from finetune.data.open_files import utf_8
from finetune.data.records import Record, column_names, whole
from finetune.data.written_cells import as_json
from finetune.errors import first_line

LINES_SEEN = 50  # lines that are tried as JSON
SUFFIXES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv")  # are tables, even if a cell of each line is JSON
NO_OBJECT = "is not a JSON object with the columns' names"


def sniff(start: FileStart) -> bool:
    """Whether most lines are objects, or the suffix is JSON Lines' and some are."""
    if start.suffix in TABLES:
        return False
    lines = start.lines
    if len(start.text) >= SAMPLE_CHARS and len(lines) == 1 and start.text.lstrip().startswith("{"):
        lines = start.first_lines(2)
    return _are_json_lines(lines, start.suffix)


def _are_json_lines(lines: Sequence[str], suffix: str) -> bool:
    some = lines[:LINES_SEEN]
    objects = sum(map(_is_object, some))
    by_name = suffix in SUFFIXES
    alone = suffix == ".json" and len(lines) == 1
    if objects >= 0.5 * len(some) and not alone:
        return True
    return by_name and (objects > 0 or lines[0].lstrip()[:1] in ("{", "["))


def _is_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each line that is not blank."""
    for row, line, text in form.filled_lines(path):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield Record(row=row, line=line, fault=Finding(JSON, f"is not JSON ({first_line(error)})"))
            continue
        yield of_object(value, row=row, line=line)


def of_object(value: Any, *, row: int, line: int) -> Record:
    """The cells of a JSON object, or of a labelling tool's export; a fault for any other value."""
    if not isinstance(value, dict):
        return Record(row=row, line=line, fault=Finding(JSON, NO_OBJECT))
    value, fault = plain_row(value)
    if fault:
        return Record(row=row, line=line, fault=Finding(REJECTED, fault))
    names = column_names(list(value))
    return whole(Record(row=row, line=line, values=dict(zip(names, value.values(), strict=True))))


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    with utf_8(file) as text:
        text.writelines(as_json(row, output.names) + "\n" for row in rows)
    return 0


FORMAT = Format(
    name="json-lines",
    title="JSON Lines",
    suffixes=(".jsonl",),
    corpus=SUFFIXES,
    cells="lists",
    sniff=sniff,
    read=read,
    write=_write,
)
