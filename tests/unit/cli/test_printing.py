"""Tables, lines and bars fit a terminal of any width, and nothing of them is cut."""

import random
import re
from collections import Counter

import pytest
from rich.cells import cell_len

from finetune.analysis.table import TextTable
from finetune.cli.console import PrintedTable, Terminal
from finetune.cli.terminal import flowed

WIDTHS = (40, 60, 80, 120)
WORDS = ("a", "longer-word", "안녕하세요", "두 단어", "", "2026-11-21T09:42:30+00:00", "two\nlines", "x" * 90)
NOTE = (
    "note: the head reads the mean of a text's tokens, which fits minilm; 감사합니다 여러분 and the model is saved in "
    "a format that only finetune loads (`finetune run a.csv` is another), add text='body text'"
)


def printed(table: TextTable, width: int) -> str:
    console = Terminal()
    console.width = width
    with console.capture() as captured:
        console.print(PrintedTable(table))
    return captured.get()


def squeezed(text: str) -> str:
    """The text without spaces, borders and line ends, which folding adds."""
    return re.sub(r"[\s│┃]", "", text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(4))
def test_no_line_is_wider_than_the_console_and_no_cell_is_cut(width: int, seed: int) -> None:
    draw = random.Random(seed)
    rows = [(draw.choice(WORDS), f"{number:010d}", draw.choice(WORDS), draw.choice(WORDS)) for number in range(12)]
    columns, notes = ["name", "id", "text", "model"], ["a note " * 20]
    text = printed(TextTable(title="all runs", columns=columns, words=["text"], rows=rows, notes=notes), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert [row[1] for row in rows if row[1] not in text] == [], "an id is never folded"
    assert Counter(squeezed("".join(map("".join, rows)))) <= Counter(squeezed(text)), "no letter is missing"


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_break_between_words_and_not_in_what_can_be_pasted(width: int) -> None:
    found = flowed(f"first\n  - {NOTE}", width).split("\n")
    assert found[:1] == ["first"] and all(line.startswith("    ") for line in found[2:])
    assert all(cell_len(line) <= width for line in found)
    assert " ".join(" ".join(found).split()) == f"first - {NOTE}"
    command, setting = "`finetune run 'my reviews.csv' label=mark train.epochs=3`", "text='the body of it'"
    lines = [line.strip() for line in flowed(f"a text: {command} trains on it, or with {setting}", 20).split("\n")]
    assert lines == ["a text:", command, "trains on it, or", "with", setting]
