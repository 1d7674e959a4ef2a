"""The files of a corpus, and how each is read: as lines of text, or as cells of a column."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import IO

from finetune.data.bounds import LONGEST_NAME
from finetune.data.detect import FORMATS
from finetune.data.encodings.detect import Encoding, find_encoding
from finetune.data.encodings.unicode import CONTROLS, marked, wide
from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import BLANK, CHUNK_BYTES, FileStart
from finetune.data.files import NO_DATA
from finetune.data.formats import delimited
from finetune.data.formats.dialect import split_rows
from finetune.data.open_files import PACKED, Compression, compression_of, open_bytes
from finetune.data.paths import is_folder, is_pattern, matching, require_file, require_utf_8
from finetune.errors import UserError

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
LINES = (".txt", ".text")
TABLES = {suffix: one for one in FORMATS for suffix in one.corpus}
NAMES_SHOWN = 8
MANY_COLUMNS = 100  # that no labelled table has
NAMED = f"{', '.join((*LINES, *TABLES))}, also as {' or '.join(PACKED)}"
NEEDED = "Write text into it: a sentence or paragraph on a line, a blank line between documents"
BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
BINARY = 0.02  # share of control characters from which a file is not text
BINARY_BYTES = bytes(set(CONTROLS) - {*b"\b\f\v\x1b"})
NOT_ASCII = bytes(range(0x80, 0x100))


@dataclass(frozen=True, kw_only=True)
class CorpusFile:
    """A file of a corpus; `form` is the format of a table, None for lines of text."""

    path: Path
    compression: Compression
    encoding: str
    form: FileFormat | None


class CorpusStart(FileStart):
    """The beginning of a file of any size: its encoding is detected in that alone."""

    needs = NEEDED

    @cached_property
    def encoding(self) -> Encoding:
        """The given encoding if it fits the beginning, else the detected one."""
        self.require_supported()
        if _is_binary(self.head):
            raise UserError(f"{self.path}: is a binary file, not text", f"Name a file of text: {NAMED}")
        return find_encoding(self.path, self._opened, self.given)

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The beginning up to a place where no character is cut."""
        yield io.BytesIO(_whole_characters(self.head) if len(self.head) >= CHUNK_BYTES else self.head)


def corpus_files(paths: Paths, encoding: str = "", column: str = "") -> list[CorpusFile]:
    """The files that are not empty among those named, and below folders named; those of a folder in order of names.

    A .txt is read as a table where its `column` is named. Raises UserError for one that cannot be read or is of an
    unsupported kind, for a .txt that is a table and no column is named or the other way round, for a folder without
    files of text, and where all are empty.
    """
    found = named_files(paths)
    filled = [file for file in found if not _is_empty(file)]
    if not filled:
        raise UserError(f"{found[0]}: is empty", NEEDED)
    return [_corpus_file(file, encoding, column) for file in filled]


def named_files(paths: Paths) -> list[Path]:
    """The files named or matched by a pattern, and those below folders named.

    Raises UserError for one that is not there, and for no file.
    """
    several = [paths] if isinstance(paths, str | PathLike) else paths
    found = dict.fromkeys(file for path in several for file in _files(Path(path)))
    if not found:
        raise UserError("no file of text was named", f"Name a file, or a folder with files of text: {NAMED}")
    return list(found)


def _files(path: Path) -> list[Path]:
    require_utf_8(path)
    if not is_folder(path):
        return matching(path) if is_pattern(path) else [require_file(path)]
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file() and _is_text(file, path))
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read ({error.strerror})", "Check its permissions") from error
    if not files:
        raise UserError(f"{path}: has no file of text", f"Name a folder with files called {NAMED}")
    return files


def _is_text(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is named as text is, and neither it nor its folder is hidden."""
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and CorpusStart(file).suffix in (*LINES, *TABLES) and not NO_DATA.fullmatch(file.name)


def _is_empty(file: Path) -> bool:
    """Whether a file has nothing but white space."""
    with open_bytes(file, compression=compression_of(file)) as opened:
        start = opened.read(CHUNK_BYTES)
    return len(start) < CHUNK_BYTES and not start.strip(BLANK)


def _corpus_file(path: Path, encoding: str, column: str) -> CorpusFile:
    start = CorpusStart(path, encoding)
    table = TABLES.get(start.suffix) or _by_content(start, column)
    name = start.encoding.name if table is None or table.text else ""
    form = None
    if table is not None:
        layout = table.sniff(start) or True  # the name decides, where the content does not
        form = FileFormat(format=table, compression=start.compression, encoding=name, layout=layout)
    return CorpusFile(path=path, compression=start.compression, encoding=name, form=form)


def _by_content(start: CorpusStart, column: str) -> Format | None:
    """The format of a table whose name does not say so; None for lines of text."""
    if start.suffix in LINES:
        return _of_lines(start, column)
    tables = (one for one in FORMATS if one.corpus and one is not delimited.FORMAT)  # which any text may be
    found = next((one for one in tables if one.sniff(start)), None)
    if found is None and start.suffix == ".json":
        raise UserError(f"{start.path}: is not JSON Lines", "Write one JSON object in each line, and call it .jsonl")
    return found


def _of_lines(start: CorpusStart, column: str) -> Format | None:
    """None for a .txt of lines; the format of one that is a table, whose column the user has named."""
    columns = columns_of_lines(start)
    if columns and not column and not BLANK_LINE.search(start.text.strip()):
        raise UserError(
            f"{start.path}: is a table, with the columns {', '.join(columns[:NAMES_SHOWN])}",
            "Name the one to read, text=NAME; if its lines are still text, put a blank line between documents",
        )
    if column and not columns:
        raise UserError(f"{start.path}: is lines of text, without a column '{column}'", "Leave text= out")
    return delimited.FORMAT if column else None


def columns_of_lines(start: CorpusStart) -> list[str]:
    """The columns of a .txt whose lines are divided alike by a sign; none where they are text.

    A sign that only ends or begins the lines (`word,`) divides nothing.
    """
    layout = delimited.sniff(start)
    rows = split_rows(start.text, layout.delimiter, quoted=layout.quoted) if layout.delimiter else []
    if len({place for row in rows for place, cell in enumerate(row) if cell.strip()}) < 2 or _is_prose(rows[0]):
        return []
    form = FileFormat(
        format=delimited.FORMAT, compression=start.compression, encoding=start.encoding.name, layout=layout
    )
    return delimited.header(start.path, form)


def _is_prose(first: list[str]) -> bool:
    """Whether the commas of a long line make no header of it."""
    return len(first) > MANY_COLUMNS and max(map(len, first)) > LONGEST_NAME


def _is_binary(head: bytes) -> bool:
    if marked(head) or wide(head):
        return False
    return b"\0" in head or len(head) - len(head.translate(None, BINARY_BYTES)) > BINARY * len(head)


def _whole_characters(head: bytes) -> bytes:
    """The bytes up to the last line end, else up to the last ASCII character."""
    end = head.rfind(b"\n") + 1 or len(head.rstrip(NOT_ASCII)) or len(head)
    return head[:end]
