"""Detects a text file's encoding: by BOM, by zero bytes, as UTF-8, by Korean syllables, and else by chardet."""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from finetune.data.encodings.unicode import CHUNK_BYTES, Opened, decodes, marked, wide
from finetune.data.messages import shown
from finetune.errors import UserError, nearest

SAMPLE_BYTES, CELL_BYTES = 1 << 14, 1 << 10  # bytes in which chardet looks, and those of one cell or line
WHOLE_BYTES = 200_000  # at the beginning, in which ASCII counts too
LEAST_CONFIDENCE, HIGH = 0.035, 0.4  # confidence of the best one
FAR, NEAR = 0.8, 0.998  # confidence of the next one, relative to it
HANGUL_SHARE = 0.4  # of characters beyond ASCII, that are frequent syllables
CONTROLS = re.compile("[\x80-\x9f]")
MIXED = re.compile("[A-Za-z][\u0370-\u07ff]|[\u0370-\u07ff][A-Za-z]")
MIXED_SHARE = 0.1  # of characters beyond ASCII
WRONG = 0.1  # share of lines with invalid bytes from which an encoding is wrong
RIVALS = 3  # candidates shown where the encoding is ambiguous
ENCODINGS = (  # that chardet chooses from; of several that read alike, the first is named
    *("iso8859-1", "cp1252", "iso8859-15", "mac-roman", "cp850", "cp1250", "iso8859-2", "cp1257", "iso8859-13"),
    *("cp1254", "iso8859-9", "cp1258", "cp1251", "koi8-r", "koi8-u", "iso8859-5", "cp866", "cp1253", "iso8859-7"),
    *("cp1255", "iso8859-8", "cp1256", "iso8859-6", "cp874", "gb18030", "big5hkscs", "cp932", "shift_jis_2004"),
    *("euc_jis_2004", "cp949"),
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
    found = _unicode(opened)
    if wanted:
        return _as_given(path, opened, found, given, wanted)
    if found is not None:
        return found
    sample = b"\n".join(_foreign(opened))
    return Encoding(name="utf-8", damaged=True) if _mostly_utf_8(sample) else _proposed(path, opened, sample)


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


def _is_korean(sample: bytes) -> bool:
    """Whether many characters in CP949 are frequent syllables; Chinese or Japanese has one in ten by chance."""
    foreign = [char for char in sample.decode("cp949", "replace") if not char.isascii()]
    return sum(char in HANGUL for char in foreign) >= HANGUL_SHARE * len(foreign)


def _is_odd(text: str) -> bool:
    """Whether there are control characters, or many letters of another script next to Latin ones."""
    return bool(CONTROLS.search(text)) or len(MIXED.findall(text)) > MIXED_SHARE * sum(not c.isascii() for c in text)


def _proposed(path: Path, opened: Opened, sample: bytes) -> Encoding:
    """CP949, or chardet's best encoding. Raises UserError where another one that reads differently is about as likely.

    chardet sees the lines beyond ASCII; where it is less than certain, it must say the same of the file's beginning.
    """
    if _is_korean(sample):
        return _described(opened, "cp949", sample)
    from chardet import detect, detect_all

    found = detect_all(sample, ignore_threshold=True, compat_names=False, include_encodings=ENCODINGS)
    likely = [(one["encoding"], one["confidence"]) for one in found if one["encoding"] in ENCODINGS]
    texts = {name: sample.decode(name, "replace") for name, _ in likely}
    likely = [(name, share) for name, share in likely if not _is_odd(texts[name])] or likely
    best = [name for name, _ in likely if texts[name] == texts[likely[0][0]]]
    others = [(name, share) for name, share in likely if name not in best]
    with opened() as file:
        whole = detect(file.read(WHOLE_BYTES), compat_names=False, include_encodings=ENCODINGS)["encoding"]
    top = likely[0][1] if likely else 0.0
    near = others[0][1] / top if others and top else 0.0
    agreed = whole in best and (near < NEAR or (top > HIGH and near < 1))
    if top < LEAST_CONFIDENCE or not (near < FAR or agreed):
        first = [whole] if whole in texts else []
        rivals: dict[str, str] = {}
        for name in [*first, *(name for name, _ in likely)]:
            rivals.setdefault(texts[name], LARGER.get(name, name))
        raise _unsure(path, [*rivals.items()][:RIVALS])
    best.sort(key=ENCODINGS.index)
    name = next((name for name in best if decodes(opened, name)), best[0])
    return _described(opened, LARGER.get(name, name), sample)


def _unsure(path: Path, rivals: list[tuple[str, str]]) -> UserError:
    """The error for an ambiguous encoding, with a line as each of the candidates reads it: (text, name)."""
    if not rivals:
        return UserError(f"{path}: is in no known encoding", "Name it with encoding=NAME, or save the file as UTF-8")
    lines = list(zip(*(text.split("\n") for text, _ in rivals), strict=False))
    line = max(lines, key=lambda cells: (len(set(cells)), _foreignness(cells[0])))
    shown_in = ", ".join(f"{shown(_middle(text))} in {name}" for text, (_, name) in zip(line, rivals, strict=True))
    return UserError(
        f"{path}: its encoding is ambiguous; the same line reads {shown_in}",
        f"Name the right one, such as encoding={rivals[0][1]}, or save the file as UTF-8",
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
