"""Opens files for reading and writing: gzip and xz, encodings, and errors that name the file."""

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from finetune.data.paths import require_file
from finetune.data.records import LONGEST_LINE, require_expanded
from finetune.errors import UserError, first_line

CHUNK_BYTES = 1 << 20  # bytes
Compression = Literal["", "gzip", "xz"]
MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz"}
PACKED = (".gz", ".xz")  # suffixes of compressed files


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
