"""Detects a text file's encoding: by BOM, by zero bytes, as UTF-8, and else by its letters (encodings/legacy.py)."""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from finetune.data.encodings.legacy import ENCODINGS, DecodedText, readings
from finetune.data.encodings.unicode import CHUNK_BYTES, Opened, decodes, marked, wide
from finetune.data.messages import shown
from finetune.errors import UserError, nearest

SAMPLE_BYTES, CELL_BYTES = 1 << 14, 1 << 10  # bytes in which letters are counted, and those of one cell or line
PLAIN = 1 << 12  # bytes at the beginning in which ASCII counts too
SURE = 12.0  # bits by which the best encoding must be likelier than the next
MISFIT = 12.5  # bits per character: with more, the text is in no known language
WRONG = 0.1  # share of lines with invalid bytes from which an encoding is wrong
RIVALS = 3  # candidates shown where the encoding is ambiguous
SEVEN_BIT = {"iso2022_kr": b"\x1b$)C", "iso2022_jp_2": b"\x1b$"}  # with escape sequences, all bytes are ASCII
LARGER = {  # a name may mean several encodings: Windows' version is a superset
    **{"shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950"},
    **{"iso8859-1": "latin-1"},
}
NOT_OF_FILES = ("punycode", "idna", "undefined", "unicode-escape", "raw-unicode-escape")  # Python's, of names and code
NAMES = {
    **{"utf-8-sig": "UTF-8 with a byte-order mark", "latin-1": "Latin-1", "cp932": "Shift-JIS", "cp950": "Big5"},
    **{f"cp{page}": f"Windows-{page}" for page in range(1250, 1259)},
    **{"iso2022_jp_2": "ISO-2022-JP", "iso2022_kr": "ISO-2022-KR"},
}
ASCII = bytes(range(0x80))


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """An encoding by Python's name; whether some bytes are invalid in it; a sample line, where it is not UTF."""

    name: str
    damaged: bool = False
    sample: str = ""


def find_encoding(path: Path, opened: Opened, given: str = "") -> Encoding:
    """Detects a file's encoding; `opened` opens its bytes, and may be called several times; `given` is the user's.

    Raises UserError for a given one that is unknown or not the file's, and where none was given and the letters fit
    several.
    """
    wanted = _known(given) if given else ""
    found = _unicode(opened)
    if wanted:
        return _as_given(path, opened, found, given, wanted)
    if found is not None:
        return found
    sample = b"\n".join(_foreign(opened))
    return Encoding(name="utf-8", damaged=True) if _mostly_utf_8(sample) else _by_letters(path, opened, sample)


def spelled(name: str) -> str:
    """An encoding as people write it: `Windows-1251` for cp1251."""
    return NAMES.get(name, name.upper())


def _known(given: str) -> str:
    """Python's name of an encoding. Raises UserError for an unknown one."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=given)
        name = codecs.lookup(given).name
        if name.replace("_", "-") in NOT_OF_FILES:
            raise LookupError(given)
    except (LookupError, ValueError) as error:
        common = ["utf-8", "utf-16", "big5", "shift-jis", "euc-kr", *map(str.lower, NAMES.values()), *ENCODINGS]
        raise UserError(
            f"unknown encoding '{given}'",
            f"{nearest(given, common)}It is a name such as utf-8, cp949, gb18030, shift-jis, windows-1251 or latin-1",
        ) from error
    return LARGER.get(name, name)


def _unicode(opened: Opened) -> Encoding | None:
    """UTF-8 (also for plain ASCII), UTF-16 or UTF-32; None for other encodings."""
    with opened() as file:
        start = file.read(CHUNK_BYTES)
    if name := marked(start) or wide(start):
        return Encoding(name=name, damaged=not decodes(opened, name))
    if not decodes(opened, "utf-8"):
        return None
    for name, escape in SEVEN_BIT.items():
        if escape in start and decodes(opened, name):
            return Encoding(name=name, sample=_telling(start[:SAMPLE_BYTES].decode(name, "replace")))
    return Encoding(name="utf-8")


def _as_given(path: Path, opened: Opened, found: Encoding | None, given: str, name: str) -> Encoding:
    """The encoding that a user names. Raises UserError where the file is evidently in another one."""
    if found is not None and _family(found.name) == _family(name):
        return found
    sample = b"\n".join(_foreign(opened))
    in_ascii = found is not None and found.name == "utf-8" and not sample
    if found is not None and (not in_ascii or _family(name) in ("utf-16", "utf-32")):
        raise UserError(f"{path}: is in {spelled(found.name)}, not in {given}", "Leave encoding= out")
    _require_readable(path, sample, given, name)
    return _described(opened, name, sample)


def _family(name: str) -> str:
    """One name for encodings that differ only in a BOM, byte order, or a few characters."""
    return re.sub(r"^(utf-(8|16|32)|iso2022-\w\w).*", r"\1", name.replace("_", "-"))


def _foreign(opened: Opened) -> Iterator[bytes]:
    """Lines, or quoted cells, with non-ASCII bytes: the first ones, and each with a byte not seen before."""
    size, seen = 0, set[int]()
    with opened() as file:
        while chunk := file.read(CHUNK_BYTES) + file.readline(CHUNK_BYTES):
            if size >= SAMPLE_BYTES and seen.issuperset(chunk.translate(None, ASCII)):
                continue
            for part in re.split(rb'[\r\n"]+', chunk):
                place = len(part) - len(part.lstrip(ASCII))
                part = part[max(0, place - CELL_BYTES // 8) :][:CELL_BYTES]
                foreign = part.translate(None, ASCII)
                if foreign and (size < SAMPLE_BYTES or not seen.issuperset(foreign)):
                    seen.update(foreign)
                    size += len(part)
                    yield part


def _mostly_utf_8(sample: bytes) -> bool:
    """Whether more of the non-ASCII characters are valid UTF-8 than not."""
    text = sample.decode("utf-8", errors="surrogateescape")
    bad = sum("\udc80" <= char <= "\udcff" for char in text)
    return sum(char > "\x7f" for char in text) >= 2 * bad


def _require_readable(path: Path, sample: bytes, given: str, name: str) -> None:
    """Raises UserError where many lines have bytes that are invalid in the given encoding."""
    lines = sample.split(b"\n") if sample else []
    bad = sum("\ufffd" in line.decode(name, "replace") for line in lines)
    if bad > WRONG * len(lines):
        what = f"{path}: is not in {given}: {bad} of {len(lines)} non-ASCII lines have bytes that are invalid in it"
        raise UserError(what, "Leave encoding= out, or name another one")


def _described(opened: Opened, name: str, sample: bytes) -> Encoding:
    """The encoding of that name, and whether all of the file is valid in it."""
    line = _telling(sample.decode(name, "replace")) if sample else ""
    return Encoding(name=name, damaged=not decodes(opened, name), sample=line)


def _by_letters(path: Path, opened: Opened, sample: bytes) -> Encoding:
    """The encoding in which the letters are those of a language. Raises UserError where several are about as likely."""
    with opened() as file:
        start = file.read(PLAIN)
    best, *others = readings(sample, start)
    if best.bits > MISFIT * best.signs or others[0].bits - best.bits < SURE:
        raise _unsure(path, [best, *others[: RIVALS - 1]])
    name = next((name for name in best.encodings if decodes(opened, name)), best.encodings[0])
    return _described(opened, name, sample)


def _unsure(path: Path, rivals: list[DecodedText]) -> UserError:
    """The error for an ambiguous encoding, with a line decoded in each of the candidates."""
    lines = list(zip(*(reading.text.split("\n") for reading in rivals), strict=False))
    line = max(lines, key=lambda some: (len(set(some)), _foreignness(some[0])))
    names = [reading.encodings[0] for reading in rivals]
    shown_in = ", ".join(f"{shown(_middle(text))} in {name}" for text, name in zip(line, names, strict=True))
    return UserError(
        f"{path}: its encoding is ambiguous; the same line reads {shown_in}",
        f"Name the right one, such as encoding={names[0]}, or save the file as UTF-8",
    )


def _telling(text: str) -> str:
    """The one of the first lines with the most non-ASCII characters, shortened."""
    return shown(_middle(max(islice(text.split("\n"), 20), key=_foreignness)))


def _foreignness(text: str) -> int:
    return sum(not char.isascii() for char in text[:40])


def _middle(text: str) -> str:
    """A line from shortly before its first non-ASCII character."""
    first = next((place for place, char in enumerate(text) if not char.isascii()), 0)
    return text[max(0, first - 15) :]
