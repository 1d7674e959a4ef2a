"""Mojibake, text decoded in the wrong encoding such as `Ã©` for `é`: detection and repair."""

import re

ONE_BYTE = re.compile("[\x80-\u06ff\u2000-\u2bff\uf8ff\ufb01\ufb02]")  # characters of single-byte encodings
LOSSLESS = ("encode", "decode")  # lossless steps of a repair
HANJA = re.compile("[\u4e00-\u9fff\uf900-\ufaff]")
HANGUL = re.compile("[\uac00-\ud7a3]")
SYLLABLE = re.compile(b"[\xea-\xed][\x80-\xbf]{2}")  # a Korean syllable in UTF-8
CERTAIN = 2  # odd places in a text that no other encoding explains: one may be a sign next to a letter, as in »Ürün«
FEWEST_SYLLABLES = 2
SHARE_OF_BYTES = 0.2  # that are not ASCII, of syllables; Korean with Hanja stays below 0.03


def is_mojibake(text: str) -> bool:
    """Whether letters and signs follow each other as in text decoded in the wrong encoding: UTF-8 or CP949 as Latin-1,
    or Korean in UTF-8 as CP949.
    """
    if is_korean_as_cp949(text):
        return True
    if not ONE_BYTE.search(text):
        return False
    from ftfy import fix_encoding
    from ftfy.badness import badness

    found: int = badness(text)
    return found >= CERTAIN or (found > 0 and bool(fix_encoding(text) != text))


def is_korean_as_cp949(text: str) -> bool:
    """Whether a text is Korean in UTF-8 that was decoded as CP949, as in 移쒓뎄 for 친구; some letters may be lost."""
    if len(HANGUL.findall(text)) < max(1, len(HANJA.findall(text)) / 2):  # Chinese and Japanese have none
        return False
    data = text.encode("cp949", "ignore")
    syllables = [found for found in SYLLABLE.findall(data) if "가" <= found.decode("utf-8", "replace") <= "힣"]
    return len(syllables) >= FEWEST_SYLLABLES and 3 * len(syllables) >= SHARE_OF_BYTES * sum(
        byte > 127 for byte in data
    )


def repaired(text: str) -> str:
    """The text decoded in its original encoding, where that is certain; else the text unchanged.

    It is certain where all of the text is valid UTF-8 in that encoding, and the result is not mojibake.
    """
    if is_korean_as_cp949(text):
        try:
            return text.encode("cp949").decode()
        except UnicodeError:  # a letter is lost
            return text
    if not is_mojibake(text):
        return text
    from ftfy import fix_encoding_and_explain

    fixed, steps = fix_encoding_and_explain(text)
    certain = all(step.action in LOSSLESS for step in steps or ())
    return fixed if certain and not is_mojibake(fixed) and "\ufffd" not in fixed else text
