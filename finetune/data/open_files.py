"""Opens files: gzip and xz, encodings, errors that name the file; and the beginnings that tell their formats."""

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from finetune.data.encodings import Encoding, find_encoding
from finetune.data.paths import require_file
from finetune.data.records import LONGEST_LINE, require_expanded
from finetune.errors import UserError, first_line

CHUNK_BYTES = 1 << 20  # bytes
Compression = Literal["", "gzip", "xz"]
MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz"}
PACKED = (".gz", ".xz")  # suffixes of compressed files

SAMPLE_CHARS = 1 << 18  # characters in which delimiter, quoting and header are detected
CR_WITHIN_LINE = re.compile(r"\r(?!\n|\Z)")  # not before a line feed, which ends the line in most files
BLANK = b"\0 \r\n\t\xef\xbb\xbf\xff\xfe"
UNREAD = {  # first bytes of files without rows of text
    b"PK\x03\x04": "a zip archive", b"\xd0\xcf\x11\xe0": "an old Excel file", b"%PDF": "a PDF",
    b"\x89PNG": "an image", b"\xff\xd8\xff": "an image", b"GIF8": "an image", b"RIFF": "an image, sound or film",
}  # fmt: skip


def compression_of(path: Path) -> Compression:
    """How a file is compressed, by its first bytes. Raises UserError for one that cannot be read."""
    with open_bytes(path, compression="") as file:
        start = file.read(max(map(len, MAGIC)))
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")


@contextmanager
def open_bytes(path: Path, *, compression: Compression) -> Iterator[IO[bytes]]:
    """Opens a file's bytes, decompressed.

    Raises UserError, at once or later, where they cannot be read, and where a compressed file expands as no text does.
    """
    require_file(path)
    try:
        with _opened(path, compression) as file:
            yield io.BufferedReader(_Expanding(path, file), CHUNK_BYTES) if compression else file  # type: ignore[type-var]
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise UserError(f"{path}: cannot be read ({reason})", "Check its name and that it is complete") from error


def _opened(path: Path, compression: Compression) -> Any:
    if compression == "gzip":
        return gzip.open(path, "rb")
    return lzma.open(path, "rb") if compression == "xz" else path.open("rb")


class _Expanding(io.RawIOBase):
    """The bytes of a compressed file, counted."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self.file = file
        self.packed = path.stat().st_size
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        count: int = self.file.readinto(buffer)
        self.size += count
        require_expanded(self.path, self.size, packed=self.packed)
        return count


def require_lines(path: Path, *, compression: Compression) -> None:
    """Raises UserError for a file with a line that is too long for a row."""
    length = 0
    with open_bytes(path, compression=compression) as file:
        while length <= LONGEST_LINE and (chunk := file.read(CHUNK_BYTES)):
            last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            length = length + len(chunk) if last < 0 else len(chunk) - last
    if length > LONGEST_LINE:
        raise UserError(
            f"{path}: has a line of more than {LONGEST_LINE >> 20} MB without an end",
            "Is it a text file of rows? Put each row on a line",
        )


@contextmanager
def open_text(
    path: Path, *, compression: Compression, encoding: str, newline: str | None = ""
) -> Iterator[io.TextIOWrapper]:
    """Opens a file's text with its line ends unchanged; bytes that are invalid in the encoding become lone surrogates.

    With `newline="\\n"` only that ends a line, else a carriage return does too; with None each line ends in `\\n`.
    """
    codecs.register_error("lone-surrogate", _lone_surrogate)  # Python's own handler does not support UTF-16
    with open_bytes(path, compression=compression) as file:
        yield io.TextIOWrapper(file, encoding=encoding, errors="lone-surrogate", newline=newline)


def _lone_surrogate(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    raise error


@contextmanager
def utf_8(file: IO[bytes]) -> Iterator[IO[str]]:
    """Wraps a binary file to write UTF-8. Lone surrogates, which JSON can hold, are written as `\\ud800`."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    yield text
    text.flush()
    text.detach()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines of a UTF-8 file with their numbers; trailing empty ones are left out.

    Raises UserError with file and line for invalid UTF-8.
    """
    empty: list[int] = []
    try:
        file = require_file(path).open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})", "Check its permissions") from error
    with file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip(b"\r\n"):
                empty.append(number)
                continue
            yield from ((line, "") for line in empty)
            empty.clear()
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}:{number}: byte {error.start} is not UTF-8", "Save the file as UTF-8"
                ) from error
            yield number, line.rstrip("\r\n")


class FileStart:
    """The beginning of a file; each property is computed when a format asks for it.

    `given` is the encoding that the user set. The properties raise UserError for a file that is absent or empty, of an
    unsupported kind, or in an unknown encoding.
    """

    needs = "Give a file with a header and rows"

    def __init__(self, path: Path, given: str = "") -> None:
        self.path = path
        self.given = given

    @property
    def suffix(self) -> str:
        """The name's suffix, in lower case and without `.gz` or `.xz`."""
        return next((s for s in reversed(self.path.suffixes) if s.lower() not in PACKED), "").lower()

    @cached_property
    def compression(self) -> Compression:
        """How the file is compressed."""
        return compression_of(self.path)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, decompressed."""
        with open_bytes(self.path, compression=self.compression) as file:
            start = file.read(CHUNK_BYTES)
        if not start.strip(BLANK):
            raise UserError(f"{self.path}: is empty", self.needs)
        return start

    @cached_property
    def encoding(self) -> Encoding:
        """The given encoding if there is one, else the detected one."""
        self.require_supported()
        return find_encoding(self.path, partial(open_bytes, self.path, compression=self.compression), self.given)

    def require_supported(self) -> None:
        """Raises UserError for a file of a kind that is not read."""
        for magic, name in UNREAD.items():
            if self.head.startswith(magic):
                raise UserError(f"{self.path}: is {name}, not a table of texts", "Save its rows as CSV, or unpack them")

    @cached_property
    def newline(self) -> str:
        """What ends the lines: a line feed where most have one, so that a carriage return within them is part of a
        text; else either of them.
        """
        return "\n" if self._raw.count("\n") > len(CR_WITHIN_LINE.findall(self._raw)) else ""

    @cached_property
    def text(self) -> str:
        """The beginning of the text, up to the end of a line; in place of a carriage return within one is a space."""
        text = CR_WITHIN_LINE.sub(" ", self._raw) if self.newline else self._raw
        return text if len(text) < SAMPLE_CHARS or "\n" not in text else text[: text.rindex("\n") + 1]

    @cached_property
    def _raw(self) -> str:
        with open_text(self.path, compression=self.compression, encoding=self.encoding.name) as file:
            return file.read(SAMPLE_CHARS)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of that beginning that are not empty."""
        lines = [line for line in re.split(r"\r\n|\n|\r", self.text) if line.strip()]
        if not lines:
            raise UserError(f"{self.path}: is empty", self.needs)
        return lines

    def first_lines(self, count: int) -> list[str]:
        """The first lines that are not empty, each complete unless it is too long for a row."""
        with open_text(
            self.path, compression=self.compression, encoding=self.encoding.name, newline=self.newline
        ) as file:
            lines = iter(lambda: file.readline(LONGEST_LINE), "")
            return list(islice((line for line in lines if line.strip()), count))
