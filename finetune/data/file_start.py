"""The beginning of a file, which formats are detected by: bytes, and text in the detected encoding."""

import re
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from finetune.data.encodings import Encoding, find_encoding
from finetune.data.open_files import PACKED, Compression, compression_of, open_bytes, open_text
from finetune.data.records import LONGEST_LINE
from finetune.errors import UserError

CHUNK_BYTES = 1 << 20  # bytes
SAMPLE_CHARS = 1 << 18  # characters in which delimiter, quoting and header are detected
WITHIN = re.compile(r"\r(?!\n|\Z)")  # a carriage return that ends a line only where no line feed does
BLANK = b"\0 \r\n\t\xef\xbb\xbf\xff\xfe"
UNREAD = {  # first bytes of files without rows of text
    b"PK\x03\x04": "a zip archive", b"\xd0\xcf\x11\xe0": "an old Excel file", b"%PDF": "a PDF",
    b"\x89PNG": "an image", b"\xff\xd8\xff": "an image", b"GIF8": "an image", b"RIFF": "an image, sound or film",
}  # fmt: skip


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
        return "\n" if self._raw.count("\n") > len(WITHIN.findall(self._raw)) else ""

    @cached_property
    def text(self) -> str:
        """The beginning of the text, up to the end of a line; in place of a carriage return within one is a space."""
        text = WITHIN.sub(" ", self._raw) if self.newline else self._raw
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
