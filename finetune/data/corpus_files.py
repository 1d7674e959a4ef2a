"""The files of a corpus, and how each is read: as lines of text, or as cells of a column."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from finetune.data.bounds import LONGEST_NAME
from finetune.data.detect import FORMATS
from finetune.data.encodings import CONTROLS, marked, wide
from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import BLANK, CHUNK_BYTES, FileStart
from finetune.data.files import NO_DATA
from finetune.data.formats import delimited, json_document, parquet
from finetune.data.formats.dialect import split_rows
from finetune.data.open_files import PACKED, compression_of, open_bytes
from finetune.data.paths import is_folder, is_pattern, matching, require_file, require_utf_8
from finetune.errors import UserError

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
LINES = (".txt", ".text")
TABLES = {suffix: form for form in FORMATS for suffix in form.corpus}
NAMES_SHOWN = 8
MANY_COLUMNS = 100  # that no labelled table has
READ = f"{', '.join((*LINES, *TABLES))}, also as {' or '.join(PACKED)}"
NEEDED = "Write text into it: a sentence or paragraph on a line, a blank line between documents"
BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
BINARY = 0.02  # share of control characters from which a file is not text
BINARY_BYTES = bytes(set(CONTROLS) - {*b"\b\f\v\x1b"})


def corpus_files(paths: Paths, lines: Format, *, encoding: str = "", column: str = "") -> list[tuple[Path, FileFormat]]:
    """The files that are not empty among those named, and below folders named in order of names, each with its form:
    that of a table, or of `lines` of text.

    A .txt is read as a table where its `column` is named. Raises UserError for one that cannot be read or is of an
    unsupported kind, for a .txt that is a table and no column is named or the other way round, for a folder without
    files of text, and where all are empty.
    """
    several = [paths] if isinstance(paths, str | PathLike) else paths
    files = list(dict.fromkeys(file for path in several for file in _files(Path(path))))
    if not files:
        raise UserError("no file of text was named", f"Name a file, or a folder with files of text: {READ}")
    filled = [file for file in files if not is_empty(file)]
    if not filled:
        raise UserError(f"{files[0]}: is empty", NEEDED)
    return [(file, _form_of(FileStart(file, encoding), lines, column)) for file in filled]


def is_empty(file: Path) -> bool:
    """Whether a file has nothing but white space."""
    with open_bytes(file, compression=compression_of(file)) as opened:
        start = opened.read(CHUNK_BYTES)
    return len(start) < CHUNK_BYTES and not start.strip(BLANK)


def columns_of_lines(start: FileStart) -> list[str]:
    """The columns of a .txt whose lines are divided alike by a sign; none where they are text.

    A sign that only ends or begins the lines (`word,`) divides nothing, and commas in a long line make no header.
    """
    layout = delimited.sniff(start)
    rows = split_rows(start.text, layout.delimiter, quoted=layout.quoted) if layout.delimiter else []
    filled = {place for row in rows for place, cell in enumerate(row) if cell.strip()}
    if len(filled) < 2 or (len(rows[0]) > MANY_COLUMNS and max(map(len, rows[0])) > LONGEST_NAME):
        return []
    return delimited.header(start.path, FileFormat.of(start, delimited.FORMAT, layout))


def _files(path: Path) -> list[Path]:
    """The files that a name stands for: of a folder those that are named as text is, none of them hidden."""
    require_utf_8(path)
    if not is_folder(path):
        return matching(path) if is_pattern(path) else [require_file(path)]
    try:
        files = sorted(
            file
            for file in path.rglob("*")
            if file.is_file()
            and FileStart(file).suffix in (*LINES, *TABLES)
            and not NO_DATA.fullmatch(file.name)
            and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read ({error.strerror})", "Check its permissions") from error
    if not files:
        raise UserError(f"{path}: has no file of text", f"Name a folder with files called {READ}")
    return files


def _form_of(start: FileStart, lines: Format, column: str) -> FileFormat:
    start.require_supported()
    table = TABLES.get(start.suffix) or (parquet.FORMAT if parquet.FORMAT.sniff(start) else None)
    controls = len(start.head) - len(start.head.translate(None, BINARY_BYTES))
    binary = (b"\0" in start.head or controls > BINARY * len(start.head)) and not (
        marked(start.head) or wide(start.head)
    )
    if binary and (table is None or table.text):
        raise UserError(f"{start.path}: is a binary file, not text", f"Name a file of text: {READ}")
    table = table or _by_content(start, column)
    layout = True if table is None else table.sniff(start) or True  # the name decides, where the content does not
    return FileFormat.of(start, table or lines, layout)


def _by_content(start: FileStart, column: str) -> Format | None:
    """The format of a table whose name does not say so; None for lines of text."""
    if start.suffix not in LINES and json_document.LINES.sniff(start):
        return json_document.LINES
    if start.suffix == ".json":
        raise UserError(f"{start.path}: is not JSON Lines", "Write one JSON object in each line, and call it .jsonl")
    if start.suffix not in LINES:
        return None
    columns = columns_of_lines(start)
    if columns and not column and not BLANK_LINE.search(start.text.strip()):
        raise UserError(
            f"{start.path}: is a table, with the columns {', '.join(columns[:NAMES_SHOWN])}",
            "Name the one to read, text=NAME; if its lines are still text, put a blank line between documents",
        )
    if column and not columns:
        raise UserError(f"{start.path}: is lines of text, without a column '{column}'", "Leave text= out")
    return delimited.FORMAT if column else None
