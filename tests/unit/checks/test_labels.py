"""`finetune check`: labels, their counts and their spellings."""

from collections.abc import Mapping

import pytest

from finetune.data.characters import misspelled, unified

CODES = {"EN-US": 100, "EN-UK": 2, "SEND": 90, "SAND": 2, "a1b2": 90, "a1c2": 1, "zh-cn": 50, "zh-hn": 1}
TYPOS = {"politics": 100, "politcs": 2, "poiltics": 1, "politics!": 3, "sports": 90, "sport": 80, "cat": 90, "cab": 1}
INNER = {
    **{"긍정": 40, "긍 정": 2, "매우 긍정적": 30, "매우긍정적": 3},
    **{"room 1 1": 9, "room 11": 3, "매우 부정적": 20},
}


@pytest.mark.parametrize(
    ("counts", "spellings", "typos"),
    [
        ({"Sport": 3, "sport": 9, " SPORT": 1, "news": 2}, {"Sport": "sport", " SPORT": "sport"}, {}),
        (TYPOS, {}, {"politcs": "politics", "poiltics": "politics", "politics!": "politics"}),
        ({"class 1": 100, "class 2": 1, "1000": 100, "1001": 1}, {}, {}),
        (CODES, {}, {}),
        ({"긍정": 66, "부정": 70, "긍졍": 1, "부저": 1}, {}, {"긍졍": "긍정", "부저": "부정"}),
        ({"긍정": 66, "긍정ㅇ": 1, "긎엉": 1}, {}, {"긍정ㅇ": "긍정"}),
        ({"긍정": 66, "부정": 6, "중립": 1, "A형": 90, "B형": 2, "남": 50, "담": 1}, {}, {}),
        (INNER, {"긍 정": "긍정", "매우긍정적": "매우 긍정적"}, {}),
        ({"매우  긍정적": 1, "매우\u00a0긍정적": 2, "1 2": 5, "12": 9}, {"매우  긍정적": "매우\u00a0긍정적"}, {}),
    ],
)
def test_spellings_and_typos(counts: Mapping[str, int], spellings: dict[str, str], typos: dict[str, str]) -> None:
    assert (unified(counts), misspelled(counts)) == (spellings, typos)
