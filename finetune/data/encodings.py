"""The encoding of a text file: UTF-8, UTF-16, UTF-32, or CP949 of Korean; for any other one the user is asked."""

import codecs
import io
import re
import unicodedata
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, NamedTuple

from finetune.data.messages import shown
from finetune.errors import UserError, nearest

CHUNK_BYTES = 1 << 20  # bytes
SAMPLE_BYTES, CELL_BYTES, MOST_PARTS = 1 << 14, 1 << 10, 200  # of the sample, and of a cell or line in it
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
ESCAPE = b"\x1b$"  # of ISO-2022, all of whose bytes are ASCII
ASCII = bytes(range(0x80))
LARGER = {  # a name may mean several encodings: Windows' version is a superset
    **{"shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950"},
    **{"iso8859-1": "latin-1"},
}
NOT_OF_FILES = ("punycode", "idna", "undefined", "unicode-escape", "raw-unicode-escape")  # Python's, of names and code
MARKS = (  # the longer ones first
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
ODD = re.compile("[a-zß-öø-ÿа-я][A-ZÀ-ÖØ-ÞА-Я]|[A-Za-z][\u0370-\u07ff]|[\u0370-\u07ff][A-Za-z]")  # in no word

Opened = Callable[[], AbstractContextManager[IO[bytes]]]


class Encoding(NamedTuple):
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
    mark, wide = marked(start), _family(wanted) in ("utf-16", "utf-32")
    if has_zeros(start) and not mark:
        if wide and decodes(opened, wanted):
            return Encoding(wanted)
        what = f"{path}: has zero bytes, as a text in UTF-16 without a byte-order mark or a binary file has"
        raise UserError(what, "Name it, such as encoding=utf-16-le, or save the file as UTF-8")
    unicode = mark or ("utf-8" if decodes(opened, "utf-8") else "")
    if unicode and (not wanted or _family(wanted) == _family(unicode)):
        if not wanted and not mark and ESCAPE in start:
            raise UserError(f"{path}: is in ISO-2022", "Name the right one, such as encoding=iso2022_jp or iso2022_kr")
        return Encoding(unicode, bool(mark) and not decodes(opened, mark))
    lines = _foreign(opened)
    sample = b"\n".join(lines)
    if not wanted:
        if _mostly_utf_8(sample):
            return Encoding("utf-8", damaged=True)
        if not _is_korean(sample):
            raise _question(path, sample)
    elif unicode and (mark or sample or wide):
        raise UserError(f"{path}: is in {unicode.upper()}, not in {given}", "Leave encoding= out")
    elif (bad := sum("\ufffd" in line.decode(wanted, "replace") for line in lines)) > WRONG * len(lines):
        what = f"{path}: is not in {given}: {bad} of {len(lines)} non-ASCII lines have bytes that are invalid in it"
        raise UserError(what, "Leave encoding= out, or name another one")
    name = wanted or "cp949"
    return Encoding(name, not decodes(opened, name), shown(lines[0].decode(name, "replace")) if lines else "")


def marked(start: bytes) -> str:
    """The encoding whose byte-order mark the bytes begin with; else empty."""
    return next((name for mark, name in MARKS if start.startswith(mark)), "")


def has_zeros(start: bytes) -> bool:
    """Whether bytes are not of a text in UTF-8: one in twenty is zero, as in UTF-16 without a byte-order mark."""
    return 20 * start.count(0) > len(start)


def decodes(opened: Opened, encoding: str) -> bool:
    """Whether all bytes of a file are valid in an encoding."""
    with opened() as file:
        try:
            for _ in codecs.iterdecode(iter(lambda: file.read(CHUNK_BYTES), b""), encoding):
                pass
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
        common = ["utf-8", "utf-16", "big5", "shift-jis", "euc-kr", "windows-1252", "windows-1251", *CANDIDATES]
        raise UserError(
            f"unknown encoding '{given}'",
            f"{nearest(given, common)}It is a name such as utf-8, cp949, gb18030, shift-jis, windows-1251 or latin-1",
        ) from error
    return LARGER.get(name, name)


def _family(name: str) -> str:
    """One name for encodings that differ only in a mark or byte order; empty for those that are not UTF."""
    return re.match(r"utf-\d+|", name)[0]  # type: ignore[index]


def _foreign(opened: Opened) -> list[bytes]:
    """The first lines, or quoted cells, with non-ASCII bytes, from shortly before the first of these."""
    parts = list[bytes]()
    with opened() as file:
        while sum(map(len, parts)) < SAMPLE_BYTES and (chunk := file.read(CHUNK_BYTES) + file.readline(CHUNK_BYTES)):
            for part in re.split(rb'[\r\n"]+', chunk):
                if not part.isascii() and len(parts) < MOST_PARTS:
                    place = len(part) - len(part.lstrip(ASCII))
                    parts.append(part[max(0, place - 15) :][:CELL_BYTES])
    return parts


def _mostly_utf_8(sample: bytes) -> bool:
    """Whether more of the non-ASCII characters are valid UTF-8 than not."""
    text = sample.decode("utf-8", errors="surrogateescape")
    bad = sum("\udc80" <= char <= "\udcff" for char in text)
    return sum(char > "\x7f" for char in text) >= 2 * bad


def _is_korean(sample: bytes) -> bool:
    """Whether many characters in CP949 are frequent syllables; Chinese or Japanese has one in ten by chance."""
    foreign = [char for char in sample.decode("cp949", "replace") if not char.isascii()]
    return sum(char in HANGUL for char in foreign) >= HANGUL_SHARE * len(foreign)


def _question(path: Path, sample: bytes) -> UserError:
    """The error for a file that is not Unicode: a line as each encoding reads it that fits, the likeliest first."""
    texts: dict[str, str] = {}
    for name in CANDIDATES:
        text = sample.decode(name, "replace")
        kinds = {unicodedata.category(char) for char in text if char not in "\n\t"}
        if "\ufffd" not in text and kinds.isdisjoint(("Cc", "Co")):
            texts.setdefault(text, name)
    if not texts:
        return UserError(f"{path}: is in no known encoding", "Name it with encoding=NAME, or save the file as UTF-8")
    likely = sorted(texts, key=_oddness)
    lines = zip(*(text.split("\n") for text in likely[:MOST_ASKED]), strict=False)
    line = max(lines, key=lambda cells: len({*cells}))
    readings = (f"{shown(part)} in {texts[text]}" for part, text in zip(line, likely, strict=False))
    return UserError(
        f"{path}: is not in UTF-8; the same line reads {', '.join(readings)}",
        f"Name the right one, such as encoding={texts[likely[0]]}, or save the file as UTF-8",
    )


def _oddness(text: str) -> int:
    """Counts what words do not have: signs beyond ASCII, capitals after small letters, letters of two scripts."""
    return len(ODD.findall(text)) + sum(unicodedata.category(char)[0] in "SNCZ" for char in text if not char.isascii())
