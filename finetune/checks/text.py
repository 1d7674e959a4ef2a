"""Checks of single texts: placeholders, stray characters, damaged encodings."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from finetune.checks.finding import FileFinding
from finetune.checks.split_data import Check, SplitFile, in_each
from finetune.data.characters import CONTROL
from finetune.data.issues import Issue
from finetune.data.mojibake import is_mojibake

BLANK = frozenset(("nan", "null", "none", "n/a", "na", "nil", "?", "<na>", "#n/a", "undefined"))
HTML = re.compile(
    r"</?(a|b|i|u|p|br|hr|em|ul|ol|li|td|tr|div|span|strong|table|img|font|h[1-6])\b[^<>]*>"
    r"|&(amp|lt|gt|quot|nbsp|apos|#\d+);"
)
SINGLE = re.compile("[ㄱ-ㅣﾡ-ￜ]")  # a cheap test before SPELLED
# Korean syllables written as single letters (but not laughter and tears: ㅋㅋㅠㅠ), or in letters of half width
SPELLED = re.compile("[ㄱ-ㅎ][ㅏ-ㅛㅝ-ㅟㅢㅣ][ㄱ-ㅎ]?[ㄱ-ㅎ][ㅏ-ㅣ]|[ﾡ-ￜ]")


Holds = Callable[[str], object]
IN_TEXTS: Mapping[Issue, Holds] = {
    Issue(
        code="blank-word",
        severity="warning",
        meaning="placeholder texts (nan, null)",
        remedy="Leave the cell empty where there is no text",
    ): lambda text: len(text) < 12 and text.strip().casefold() in BLANK,
    Issue(
        code="no-letters",
        severity="note",
        meaning="texts without a letter or a digit",
        remedy="Check whether they mean anything",
    ): lambda text: len(text) < 100 and not any(map(str.isalnum, text)),
    Issue(
        code="html",
        severity="note",
        meaning="HTML tags or entities in the text",
        remedy="Replace them with plain text",
    ): lambda text: ("<" in text or "&" in text) and HTML.search(text),
    Issue(
        code="mojibake",
        severity="warning",
        meaning="mojibake: texts decoded in the wrong encoding (such as Ã© for é, or 移쒓뎄 for 친구)",
        remedy="Export the data again as UTF-8; `fix` repairs UTF-8 that was decoded as another encoding, where all "
        "of it is still there",
    ): lambda text: not text.isascii() and is_mojibake(text),
    Issue(
        code="not-nfc",
        severity="warning",
        meaning="texts with decomposed letters (not in NFC: é or 한 as several characters)",
        remedy="Normalise to NFC, as `fix` does; a tokenizer splits such letters",
    ): lambda text: not unicodedata.is_normalized("NFC", text),
    Issue(
        code="jamo",
        severity="warning",
        meaning="Korean syllables written as single letters (jamo: ㅎㅏㄴ), or half-width letters",
        remedy="Write whole syllables; NFC does not compose these",
    ): lambda text: not text.isascii() and SINGLE.search(text) and SPELLED.search(text),
    Issue(
        code="control",
        severity="note",
        meaning="control or invisible characters (NUL, zero-width space)",
        remedy="Remove them, as `fix` does",
    ): lambda text: not (text.isascii() and text.isprintable()) and CONTROL.search(text),
    Issue(
        code="replacement",
        severity="warning",
        meaning="replacement characters U+FFFD: letters were lost",
        remedy="Export the data again as UTF-8",
    ): lambda text: "\ufffd" in text,
}


def odd_texts(part: SplitFile) -> Iterator[FileFinding]:
    """Texts of each kind that is odd."""
    for issue, holds in IN_TEXTS.items():
        if indexes := [index for index, text in enumerate(part.texts) if text and holds(text)]:
            yield part.found(issue, indexes)


CHECKS = (Check(find=in_each(odd_texts), issues=tuple(IN_TEXTS)),)
