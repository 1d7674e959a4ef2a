"""How a file format declares to detect, read and write its files, and what was detected of one file."""

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from finetune.data.open_files import Compression, FileStart, open_bytes, open_text
from finetune.data.records import Record

FileRow = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How one file is to be read.

    `layout` is what the format's `sniff` detected, such as a delimiter. `damaged`: some bytes are not valid in its
    encoding; `sample`: one of its lines, where the encoding is not UTF. With `newline="\\n"` a carriage return within
    a line is part of it; else it ends one.
    """

    format: "Format"
    compression: Compression = ""
    encoding: str = "utf-8"
    damaged: bool = False
    sample: str = ""
    newline: str = ""
    layout: Any = True

    @classmethod
    def of(cls, start: FileStart, format: "Format", layout: Any) -> "FileFormat":
        """How the file of this start is read in a format and layout: with its compression, encoding and line ends."""
        if not format.text:
            return cls(format=format, compression="" if start.path.is_dir() else start.compression, layout=layout)
        encoding = start.encoding
        return cls(
            format=format,
            compression=start.compression,
            encoding=encoding.name,
            damaged=encoding.damaged,
            sample=encoding.sample,
            newline=start.newline if format.lines else "",
            layout=layout,
        )

    def __str__(self) -> str:
        """In words: `delimited text, in UTF-8, comma-separated, quoted, gzip`."""
        name = self.encoding.upper().replace("UTF-8-SIG", "UTF-8 with a byte-order mark")
        encoding = [f"in {name}"] if self.format.text else []
        layout = [] if self.layout is True else [str(self.layout)]
        return ", ".join([self.format.title, *encoding, *layout, *([self.compression] if self.compression else [])])

    def open_bytes(self, path: Path) -> AbstractContextManager[IO[bytes]]:
        """The file's bytes, decompressed."""
        return open_bytes(path, compression=self.compression)

    def open_text(self, path: Path) -> AbstractContextManager[io.TextIOWrapper]:
        """The file's text; bytes that are not valid in its encoding become lone surrogates."""
        return open_text(path, compression=self.compression, encoding=self.encoding, newline=self.newline)

    def filled_lines(self, path: Path) -> Iterator[tuple[int, int, str]]:
        """Yields (row, line, text) of each line that is not blank; rows and lines are counted from 1."""
        with self.open_text(path) as file:
            filled = ((line, text) for line, text in enumerate(file, start=1) if text.strip())
            for row, (line, text) in enumerate(filled, start=1):
                yield row, line, text

    def encoding_notes(self, path: Path) -> list[str]:
        """A note on the encoding, with a sample line, where it is not UTF."""
        note = f"{path}: read as {self.encoding.upper()}, such as {self.sample}; encoding=NAME sets another"
        return [note] if self.sample else []


@dataclass(frozen=True, kw_only=True)
class OutputFormat:
    """A file that is written: its suffix without `.gz`, its columns, and those whose cells must not run as formulas.

    `marked`: it starts with a byte-order mark. `like` is the layout of its input.
    """

    suffix: str
    names: Sequence[str]
    escaped: Collection[str] = ()
    marked: bool = False
    like: Any = None


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format; add one to the tuple in `detect.py`, and it is read, written, fixed and predicted.

    - `name`, and `title` for messages; `text`: it is text in an encoding; `lines`: a row is a line
      of it, or some; `names_columns`: a file names its columns; `compressed`: gzip would not help; `markable`: a
      byte-order mark may precede it.
    - `suffixes`: of the files that `write` writes, which returns how many cells it escaped. `cells` are
      the values it holds: texts only, values (numbers, dates), or also lists and objects. `fits` (path,
      output, rows) raises UserError where it does not hold these columns, or about so many rows.
    - `sniff` returns the layout that `read` needs (True where there is none), and something false for files of
      another format.
    - `read` yields every row in order; one that cannot be read has a fault. It raises UserError where the file as a
      whole cannot be read.
    """

    name: str
    title: str
    sniff: Callable[[FileStart], Any]
    read: Callable[[Path, FileFormat], Iterator[Record]]
    text: bool = True
    lines: bool = True
    names_columns: bool = True
    compressed: bool = False
    markable: bool = False
    suffixes: tuple[str, ...] = ()
    cells: Literal["texts", "values", "lists"] = "texts"
    fits: Callable[[Path, OutputFormat, int], None] | None = None
    write: Callable[[IO[bytes], Iterable[FileRow], OutputFormat], int] | None = None
