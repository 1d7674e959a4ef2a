"""Characters as a page shows them."""

from contextlib import suppress

import pytest

from finetune.data.characters import is_mojibake, shown_jamo


def test_jamo_of_tokens_are_shown_as_letters() -> None:
    assert list(map(shown_jamo, ("ᄇ", "##ᅢ", "##ᆯ", "##ᆰ", "ᄈ"))) == ["ㅂ", "##ㅐ", "##ㄹ", "##ㄺ", "ㅃ"]
    assert shown_jamo("배 boat 배 [SEP]") == "배 boat 배 [SEP]"
    assert shown_jamo("\u113c") == "\u113c"  # an old letter without a compatibility form


@pytest.mark.parametrize("text", ["친구", "오랜만에 만난 친구", "안녕하세요 반갑습니다"])
def test_korean_in_utf_8_that_was_read_as_cp949_is_mojibake(text: str) -> None:
    with suppress(UnicodeDecodeError):
        assert is_mojibake(text.encode().decode("cp949"))


def test_utf_8_that_was_read_in_an_encoding_of_one_byte_is_mojibake() -> None:
    for encoding in ("latin-1", "cp1252", "cp1254"):
        assert is_mojibake("Café für vier".encode().decode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        *("짱!!", "캬..", "풋", "쨩", "뷁 쒓 뎄", "ㅋㅋㅋ 꿀잼", "Café für vier", "plain"),
        *("大韓民國의 헌법", "綠林의 무리들이 江湖를 떠나", "美 대통령 發言에 北 반발", "女기사 브리엔느"),
        *("你好 世界", "日本の漢字とかな", "中国 영화 最高", "移住"),
        *("Bu »Ürün« kötü", "€ğitim ücreti", "GÜÇLÜ”ydü", "入と言、同、二を子た", "二に言が場を言と代し"),
    ],
)
def test_texts_of_many_languages_are_not_mojibake(text: str) -> None:
    assert not is_mojibake(text)
