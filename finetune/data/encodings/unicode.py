"""Unicode's encodings: by BOM, by the zero bytes of UTF-16 and UTF-32, and whether all bytes are valid."""

import codecs
import unicodedata
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO

CHUNK_BYTES = 1 << 20  # bytes
MARKS = (  # the longer ones first
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
CONTROLS = bytes({*range(0x20)} - {*b"\t\r\n"})

Opened = Callable[[], AbstractContextManager[IO[bytes]]]


def marked(start: bytes) -> str:
    """The encoding whose byte-order mark the bytes begin with; else empty."""
    return next((name for mark, name in MARKS if start.startswith(mark)), "")


def wide(start: bytes) -> str:
    """UTF-16 or UTF-32 without a BOM, detected by the zero bytes of ASCII characters; else empty."""
    some = start[:8192]
    zeros = some.count(0)
    controls = len(some) - len(some.translate(None, CONTROLS))
    if not zeros or (controls < 0.2 * len(some) and not _has_bad_bytes(some)):
        return ""
    for name, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        text = some[: len(some) // width * width].decode(name, "replace")
        odd = sum(unicodedata.category(char) in ("Cc", "Cn", "Co") for char in text if char not in "\t\r\n")
        plain = sum(char.isascii() for char in text)
        enough = zeros >= 0.4 * len(some) if width == 4 else plain >= max(0.5 * zeros, 0.01 * len(text))
        if enough and odd + text.count("\ufffd") <= 0.02 * len(text):
            return name
    return ""


def _has_bad_bytes(sample: bytes) -> bool:
    """Whether bytes are not valid UTF-8; the last character may be incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True
    return False


def decodes(opened: Opened, encoding: str) -> bool:
    """Whether all bytes of a file are valid in an encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with opened() as file:
        try:
            while chunk := file.read(CHUNK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeError:
            return False
    return True
