"""Tables in a notebook."""

import re

from finetune.api.html import html_table


def test_numbers_are_aligned_right_and_sentences_left() -> None:
    cells = ("84.3", "1,200", "-1.0 to +2.5", "0.0312", "8.1 % of the tokens are unknown", "3 rows", "-", "2nd", "긍정")
    page = html_table(("value",), [(cell,) for cell in cells])
    sides = re.findall(r"text-align:(left|right)'>([^<]+)</td>", page)
    assert [text for side, text in sides if side == "right"] == list(cells[:4])
