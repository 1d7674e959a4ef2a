"""Opens files for reading and writing: gzip, encodings, and errors that name the file."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from finetune.errors import UserError, first_line


@contextmanager
def open_bytes(path: Path, *, gzipped: bool) -> Iterator[IO[bytes]]:
    """Opens a file's bytes, decompressed if gzip. Raises UserError where they cannot be read, at once or later."""
    try:
        with gzip.open(path, "rb") if gzipped else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise UserError(f"{path}: cannot be read ({reason})", "Check its name and that it is complete") from error


@contextmanager
def open_text(path: Path, *, gzipped: bool, encoding: str, newline: str = "") -> Iterator[io.TextIOWrapper]:
    """Opens a file's text with its line ends unchanged; bytes that are invalid in the encoding become lone surrogates.

    With `newline="\\n"` only that ends a line, else a carriage return does too.
    """
    codecs.register_error("lone-surrogate", _lone_surrogate)  # Python's own handler does not support UTF-16
    with open_bytes(path, gzipped=gzipped) as file:
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
        file = path.open("rb")
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
