"""The encoding of a text file: UTF-8, UTF-16, UTF-32, or CP949 of Korean; for any other one the user is asked."""

import codecs
import io
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from finetune.data.messages import shown
from finetune.errors import UserError, nearest

CHUNK_BYTES = 1 << 20  # bytes
SAMPLE_BYTES, CELL_BYTES = 1 << 14, 1 << 10  # bytes of the sample, and of one cell or line in it
HANGUL_SHARE = 0.4  # of characters beyond ASCII, that are frequent syllables
WRONG = 0.1  # share of lines with invalid bytes from which an encoding is wrong
MOST_ASKED = 8  # encodings in a question
CANDIDATES = (  # in a question; of several that read alike, the first is named
    *("cp932", "euc_jp", "gb18030", "cp950", "cp949", "cp1252", "latin-1", "cp1251", "koi8-r", "cp1254", "cp1250"),
    *("cp1253", "cp1255", "cp1256", "cp874", "cp1257", "cp1258", "mac-roman", "cp850"),
)
HANGUL = (  # frequent syllables
    "이다는에가을의고를하은지기로한도서사대해그인나아자리어정부시스일수제전보있라과게주만장으상들소동원여연공안선년미화요없었했습니까거오무트비세야구경면우모"
    "조마내용저성위유말것신국좋영너더재르계문합드중개때치방타물와발교진식레관되러난분음터른건차음할행든입실같했못히돼생감날네많겠배"
)
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
MARKS = (  # the longer ones first
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
ODD = re.compile("[a-zß-öø-ÿа-я][A-ZÀ-ÖØ-ÞА-Я]|[A-Za-z][\u0370-\u07ff]|[\u0370-\u07ff][A-Za-z]")  # in no word

Opened = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """An encoding by Python's name; whether some bytes are invalid in it; a sample line, where it is not UTF."""

    name: str
    damaged: bool = False
    sample: str = ""


def find_encoding(path: Path, opened: Opened, given: str = "") -> Encoding:
    """Detects a file's encoding; `opened` opens its bytes, and may be called several times; `given` is the user's.

    Raises UserError for a given one that is unknown or not the file's, and where none was given and several fit.
    """
    wanted = _known(given) if given else ""
    with opened() as file:
        start = file.read(CHUNK_BYTES)
    if has_zeros(start) and not marked(start):
        if wanted[:6] in ("utf-16", "utf-32") and decodes(opened, wanted):
            return Encoding(name=wanted)
        way = "Name it, such as encoding=utf-16-le, or save the file as UTF-8"
        raise UserError(
            f"{path}: has zero bytes, as a text in UTF-16 without a byte-order mark or a binary file has", way
        )
    unicode = _unicode(opened, start)
    if unicode is not None and (not wanted or _family(unicode.name) == _family(wanted)):
        return unicode
    sample = b"\n".join(_foreign(opened))
    if not wanted:
        if _mostly_utf_8(sample):
            return Encoding(name="utf-8", damaged=True)
        if not _is_korean(sample):
            raise _question(path, sample)
        return _described(opened, "cp949", sample)
    if unicode is not None and (unicode.name != "utf-8" or sample or wanted[:6] in ("utf-16", "utf-32")):
        raise UserError(f"{path}: is in {spelled(unicode.name)}, not in {given}", "Leave encoding= out")
    lines = sample.split(b"\n") if sample else []
    bad = sum("\ufffd" in line.decode(wanted, "replace") for line in lines)
    if bad > WRONG * len(lines):
        what = f"{path}: is not in {given}: {bad} of {len(lines)} non-ASCII lines have bytes that are invalid in it"
        raise UserError(what, "Leave encoding= out, or name another one")
    return _described(opened, wanted, sample)


def spelled(name: str) -> str:
    """An encoding as people write it: `Windows-1251` for cp1251."""
    return NAMES.get(name, name.upper())


def marked(start: bytes) -> str:
    """The encoding whose byte-order mark the bytes begin with; else empty."""
    return next((name for mark, name in MARKS if start.startswith(mark)), "")


def has_zeros(start: bytes) -> bool:
    """Whether bytes are not of a text in UTF-8: one in twenty is zero, as in UTF-16 without a byte-order mark."""
    return 20 * start.count(0) > len(start)


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


def _known(given: str) -> str:
    """Python's name of an encoding. Raises UserError for an unknown one."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=given)
        name = codecs.lookup(given).name
        if name.replace("_", "-") in NOT_OF_FILES:
            raise LookupError(given)
    except (LookupError, ValueError) as error:
        common = ["utf-8", "utf-16", "big5", "shift-jis", "euc-kr", *map(str.lower, NAMES.values()), *CANDIDATES]
        raise UserError(
            f"unknown encoding '{given}'",
            f"{nearest(given, common)}It is a name such as utf-8, cp949, gb18030, shift-jis, windows-1251 or latin-1",
        ) from error
    return LARGER.get(name, name)


def _unicode(opened: Opened, start: bytes) -> Encoding | None:
    """UTF-8 (also for plain ASCII), UTF-16, UTF-32 or an encoding of seven bits; None for other encodings."""
    if name := marked(start):
        return Encoding(name=name, damaged=not decodes(opened, name))
    if not decodes(opened, "utf-8"):
        return None
    for name, escape in SEVEN_BIT.items():
        if escape in start and decodes(opened, name):
            return Encoding(name=name, sample=_telling(start[:SAMPLE_BYTES].decode(name, "replace")))
    return Encoding(name="utf-8")


def _family(name: str) -> str:
    """One name for encodings that differ only in a BOM, byte order, or a few characters."""
    return re.sub(r"^(utf-(8|16|32)|iso2022-\w\w).*", r"\1", name.replace("_", "-"))


def _foreign(opened: Opened) -> Iterator[bytes]:
    """The first lines, or quoted cells, with non-ASCII bytes."""
    size = 0
    with opened() as file:
        while size < SAMPLE_BYTES and (chunk := file.read(CHUNK_BYTES) + file.readline(CHUNK_BYTES)):
            for part in re.split(rb'[\r\n"]+', chunk):
                if size < SAMPLE_BYTES and not part.isascii():
                    place = len(part) - len(part.lstrip(ASCII))
                    part = part[max(0, place - CELL_BYTES // 8) :][:CELL_BYTES]
                    size += len(part)
                    yield part


def _mostly_utf_8(sample: bytes) -> bool:
    """Whether more of the non-ASCII characters are valid UTF-8 than not."""
    text = sample.decode("utf-8", errors="surrogateescape")
    bad = sum("\udc80" <= char <= "\udcff" for char in text)
    return sum(char > "\x7f" for char in text) >= 2 * bad


def _is_korean(sample: bytes) -> bool:
    """Whether many characters in CP949 are frequent syllables; Chinese or Japanese has one in ten by chance."""
    foreign = [char for char in sample.decode("cp949", "replace") if not char.isascii()]
    return sum(char in HANGUL for char in foreign) >= HANGUL_SHARE * len(foreign)


def _described(opened: Opened, name: str, sample: bytes) -> Encoding:
    """The encoding of that name, and whether all of the file is valid in it."""
    line = _telling(sample.decode(name, "replace")) if sample else ""
    return Encoding(name=name, damaged=not decodes(opened, name), sample=line)


def _question(path: Path, sample: bytes) -> UserError:
    """The error for a file that is not Unicode: a line as each encoding reads it that fits, the likeliest first."""
    texts: dict[str, str] = {}
    for name in CANDIDATES:
        text = sample.decode(name, "replace")
        controls = any(unicodedata.category(char) in ("Cc", "Co") for char in text if char not in "\n\t")
        if "\ufffd" not in text and not controls:
            texts.setdefault(text, name)
    if not texts:
        return UserError(f"{path}: is in no known encoding", "Name it with encoding=NAME, or save the file as UTF-8")
    likely = sorted(texts, key=_oddness)
    lines = list(zip(*(text.split("\n") for text in likely[:MOST_ASKED]), strict=False))
    line = max(lines, key=lambda cells: (len(set(cells)), _foreignness(cells[0])))
    readings = (f"{shown(_middle(part))} in {texts[text]}" for part, text in zip(line, likely, strict=False))
    return UserError(
        f"{path}: is not in UTF-8; the same line reads {', '.join(readings)}",
        f"Name the right one, such as encoding={texts[likely[0]]}, or save the file as UTF-8",
    )


def _oddness(text: str) -> int:
    """Counts what words do not have: signs beyond ASCII, capitals after small letters, letters of two scripts."""
    return len(ODD.findall(text)) + sum(unicodedata.category(char)[0] in "SNCZ" for char in text if not char.isascii())


def _telling(text: str) -> str:
    """The one of the first lines with the most non-ASCII characters, shortened."""
    return shown(_middle(max(islice(text.split("\n"), 20), key=_foreignness)))


def _foreignness(text: str) -> int:
    return sum(not char.isascii() for char in text[:40])


def _middle(text: str) -> str:
    """A line from shortly before its first non-ASCII character."""
    first = next((place for place, char in enumerate(text) if not char.isascii()), 0)
    return text[max(0, first - 15) :]
