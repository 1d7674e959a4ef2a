"""Mojibake of Korean texts, and texts that only look like it."""

import pytest

from finetune.data.mojibake import is_mojibake, repaired


@pytest.mark.parametrize("text", ["친구", "오랜만에 만난 친구", "안녕하세요 반갑습니다", "진짜 재미없다"])
@pytest.mark.parametrize("lost", ["\ufffd", "?", ""])
def test_korean_in_utf_8_that_was_read_as_cp949_is_found(text: str, lost: str) -> None:
    broken = text.encode().decode("cp949", "replace").replace("\ufffd", lost)
    assert is_mojibake(broken)
    assert repaired(broken) in (text, broken)  # never a third text


def test_it_is_repaired_where_no_letter_is_lost() -> None:
    assert repaired("移쒓뎄") == "친구"
    assert repaired("movie 移쒓뎄!") == "movie 친구!"


@pytest.mark.parametrize(
    "text",
    [
        *("짱!!", "캬..", "풋", "쨩", "뷁 쒓 뎄", "ㅋㅋㅋ 꿀잼"),
        *("大韓民國의 헌법", "綠林의 무리들이 江湖를 떠나", "美 대통령 發言에 北 반발", "女기사 브리엔느"),
        *("你好 世界", "日本の漢字とかな", "中国 영화 最高", "移住"),
    ],
)
def test_korean_with_rare_syllables_or_hanja_is_not_mojibake(text: str) -> None:
    assert not is_mojibake(text)
    assert repaired(text) == text


@pytest.mark.parametrize(
    "text", ["Bu »Ürün« kötü", "€ğitim ücreti", "GÜÇLÜ”ydü", "入と言、同、二を子た", "二に言が場を言と代し"]
)
def test_turkish_and_japanese_are_not_mojibake(text: str) -> None:
    assert not is_mojibake(text)
