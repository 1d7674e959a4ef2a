"""Mojibake, text decoded in the wrong encoding such as `Ã©` for `é`: detection and repair."""

import re

ONE_BYTE = re.compile("[\x80-\u06ff\u2000-\u2bff\uf8ff\ufb01\ufb02]")  # characters of single-byte encodings
LOSSLESS = ("encode", "decode")  # lossless steps of a repair


def is_mojibake(text: str) -> bool:
    """Whether letters and signs follow each other as in text decoded in the wrong encoding (UTF-8 as Latin-1)."""
    if not ONE_BYTE.search(text):
        return False
    from ftfy.badness import is_bad

    return bool(is_bad(text))


def repaired(text: str) -> str:
    """The text decoded in its original encoding, where that is certain; else the text unchanged.

    It is certain where all of the text is valid UTF-8 in that encoding, and the result is not mojibake.
    """
    if not is_mojibake(text):
        return text
    from ftfy import fix_encoding_and_explain

    found, steps = fix_encoding_and_explain(text)
    certain = all(step.action in LOSSLESS for step in steps or ())
    return found if certain and not is_mojibake(found) and "\ufffd" not in found else text
