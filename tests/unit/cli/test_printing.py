"""Tables, lines and bars fit a terminal of any width, and nothing of them is cut."""

import io
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from support.records import run

from finetune.analysis.run_facts import verdict_lines
from finetune.analysis.table import TextTable, facts_table
from finetune.cli.console import PrintedTable, Terminal
from finetune.cli.next_commands import GivenOptions
from finetune.cli.printing import TerminalFront
from finetune.cli.terminal import flowed, print_errors
from finetune.commands.explain import explained_lines
from finetune.errors import UserError
from finetune.inference.explanation import ExplainedRow, Explanation, WordPart

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


def test_a_table_that_cannot_fit_is_a_list_and_a_column_without_cells_is_left_out() -> None:
    rows = [("cola", "0123456789", "", "1.5"), ("mrpc", "9876543210", "", "")]
    table = TextTable(title="runs", columns=["task", "id", "encoder", "score"], rows=rows)
    assert "│ 0123456789 │" in printed(table, 80) and "encoder" not in printed(table, 80)
    assert "task: cola id: 0123456789 score: 1.5" in " ".join(printed(table, 20).split())
    assert "│ name │ xxxxxxxxxxxxxxxxxxxx │" in printed(facts_table("f", {"name": "x" * 20, "none": None}), 40)


def test_equal_errors_of_several_runs_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_errors([UserError("mnli: no data"), UserError("out of space"), UserError("mnli: no data")])
    assert capsys.readouterr().err == "error: mnli: no data (2 runs)\nerror: out of space\n"


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_break_between_words_and_not_in_what_can_be_pasted(width: int) -> None:
    found = flowed(f"first\n  - {NOTE}", width).split("\n")
    assert found[:1] == ["first"] and all(line.startswith("    ") for line in found[2:])
    assert all(cell_len(line) <= width for line in found)
    assert " ".join(" ".join(found).split()) == f"first - {NOTE}"
    command, setting = "`finetune run 'my reviews.csv' label=mark train.epochs=3`", "text='the body of it'"
    lines = [line.strip() for line in flowed(f"a text: {command} trains on it, or with {setting}", 20).split("\n")]
    assert lines == ["a text:", command, "trains on it, or", "with", setting]


@pytest.fixture
def verdict_of_run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a terminal is sent of a run's verdict."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    def sent(score: float, encoding: str = "utf-8") -> str:
        console, written = Terminal(), io.BytesIO()
        console.file, console.width = io.TextIOWrapper(written, encoding=encoding, write_through=True), 80
        TerminalFront(given=GivenOptions(), quiet=False).print(verdict_lines([run(score, majority=0.5)]), console)
        return written.getvalue().decode(encoding)

    return sent


@pytest.mark.parametrize(
    ("score", "encoding", "sent"),
    [
        (0.9, "utf-8", "\x1b[1;33m? 40.0 points better than the majority label.\x1b[0m\n  Dev accuracy is 90.0.\n"),
        (
            0.4,
            "utf-8",
            "\x1b[1;31m✗ 10.0 points worse than the majority label, do not use it.\x1b[0m\n  Dev accuracy is 40.0.\n",
        ),
        (
            0.4,
            "ascii",
            "\x1b[1;31m! 10.0 points worse than the majority label, do not use it.\x1b[0m\n  Dev accuracy is 40.0.\n",
        ),
    ],
)
def test_the_verdict_is_bold_behind_a_sign(
    verdict_of_run: Callable[..., str], score: float, encoding: str, sent: str
) -> None:
    assert verdict_of_run(score, encoding) == sent


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_of_an_explanation_fit_the_terminal(width: int) -> None:
    parts = (("a word of more than twenty-four letters", 2.0), ("w", 2.0), ("v", -2.0))
    words = [WordPart(word=word, text_name="text", start=0, end=2, added=added) for word, added in parts]
    one = Explanation(label="yes", confidence=0.9, value=-1e-4, masked=0.0, steps=8, words=words)
    row = ExplainedRow(id="", prediction="yes", confidence=0.9, texts={"text": ""}, explanations=[one])
    lines = [line.text for line in explained_lines(row, width) if "|" in line.text]
    assert len(lines) == 3 and all(len(line) <= width for line in lines)
    assert [line.partition("|")[2].count("+") for line in lines] == [min(19, (width - 14) // 3)] * 2 + [0]
    small = replace(row, explanations=[replace(one, words=[replace(words[1], added=-1e-5)] * 5)])
    found = "\n".join(line.text for line in explained_lines(small, 80))
    assert "5 words add 0.000 together" in found and "-" not in found and "|" not in found
