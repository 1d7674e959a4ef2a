"""Text that was decoded in the wrong encoding, such as `Ã©` for `é`: whether it was, and what it said."""

import re

ONE_BYTE = re.compile("[\x80-\u06ff\u2000-\u2bff\uf8ff\ufb01\ufb02]")  # what encodings of one byte a character hold
LOSSLESS = ("encode", "decode")  # steps of a repair that lose and guess nothing


def is_mojibake(text: str) -> bool:
    """Whether letters and signs follow each other as they do where UTF-8 was read as something else, or the like."""
    if not ONE_BYTE.search(text):
        return False
    from ftfy.badness import is_bad

    return bool(is_bad(text))


def repaired(text: str) -> str:
    """The text in the encoding that it was written in, where that is certain; else the text as it is.

    It is where all of the text is UTF-8 in that encoding, and says nothing odd then.
    """
    if not is_mojibake(text):
        return text
    from ftfy import fix_encoding_and_explain

    found, steps = fix_encoding_and_explain(text)
    certain = all(step.action in LOSSLESS for step in steps or ())
    return found if certain and not is_mojibake(found) and "\ufffd" not in found else text
