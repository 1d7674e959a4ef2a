"""What is printed on a terminal of any width, and where there is none."""

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from support.records import run

from finetune.analysis.run_facts import verdict_lines
from finetune.cli.next_commands import GivenOptions
from finetune.cli.printing import Terminal, TerminalFront
from finetune.cli.terminal import flowed, print_errors
from finetune.commands.explain import explained_lines
from finetune.errors import UserError
from finetune.inference.explanation import ExplainedRow, Explanation, WordPart

WIDTHS = (40, 60, 80, 120)
NOTE = (
    "note: the head reads the mean of a text's tokens, which fits minilm; 감사합니다 여러분 and the model is saved in "
    "a format that only finetune loads (`finetune run a.csv` is another), add text='body text'"
)


def test_what_is_piped_is_cut_at_no_terminals_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert Terminal().width == 90
    monkeypatch.delenv("COLUMNS")
    assert Terminal().width == 300


def test_equal_errors_of_several_runs_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_errors([UserError("mnli: no data"), UserError("out of space"), UserError("mnli: no data")])
    assert capsys.readouterr().err == "error: mnli: no data (2 runs)\nerror: out of space\n"


@pytest.fixture
def verdict_of_run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a terminal is sent of a run's verdict."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    def sent(score: float, width: int, encoding: str = "utf-8") -> str:
        console, written = Terminal(), io.BytesIO()
        console.file, console.width = io.TextIOWrapper(written, encoding=encoding, write_through=True), width
        verdicts = verdict_lines([run(score, majority=0.5)])
        TerminalFront(given=GivenOptions(), quiet=False).print(verdicts, console)
        return written.getvalue().decode(encoding)

    return sent


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_break_between_words(width: int) -> None:
    found = flowed(f"first\n  - {NOTE}", width).split("\n")
    assert found[:1] == ["first"] and all(line.startswith("    ") for line in found[2:])
    assert all(cell_len(line) <= width for line in found)
    assert " ".join(" ".join(found).split()) == f"first - {NOTE}"


def test_what_can_be_pasted_is_not_broken() -> None:
    command = "`finetune run 'my reviews.csv' label=mark train.epochs=3`"
    setting = "text='the body of it'"
    lines = [line.strip() for line in flowed(f"a text: {command} trains on it, or with {setting}", 20).split("\n")]
    assert lines == ["a text:", command, "trains on it, or", "with", setting]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_verdict_is_bold_behind_a_sign_and_has_two_sentences(
    verdict_of_run: Callable[..., str], width: int
) -> None:
    *bold, last = verdict_of_run(0.9, width).splitlines()
    assert all(line.startswith("\x1b[1;33m") and line.endswith("\x1b[0m") for line in bold)
    words = " ".join(line[7:-4].strip() for line in bold)
    assert (words, last) == ("? 40.0 points better than the majority label.", "  Dev accuracy is 90.0.")


def test_a_terminal_without_unicode_has_plain_signs(verdict_of_run: Callable[..., str]) -> None:
    assert verdict_of_run(0.4, 80).startswith("\x1b[1;31m✗ 10.0 points worse")
    assert verdict_of_run(0.4, 80, "ascii").startswith("\x1b[1;31m! 10.0 points worse")


def explained(*added: float) -> ExplainedRow:
    """A row of words that add these numbers."""
    words = [WordPart(word=f"w{i}", text_name="text", start=0, end=2, added=a) for i, a in enumerate(added)]
    one = Explanation(label="yes", confidence=0.9, value=-1e-4, masked=0.0, steps=8, words=words)
    return ExplainedRow(id="", prediction="yes", confidence=0.9, texts={"text": ""}, explanations=[one])


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_fit_the_terminal(width: int) -> None:
    row = explained(2.0, -2.0)
    long = replace(row.explanations[0].words[0], word="a word of more than twenty-four letters")
    row = replace(row, explanations=[replace(row.explanations[0], words=[long, *row.explanations[0].words])])
    lines = [line.text for line in explained_lines(row, width) if "|" in line.text]
    assert len(lines) == 3 and all(len(line) <= width for line in lines)
    assert [line.partition("|")[2].count("+") for line in lines] == [min(19, (width - 14) // 3)] * 2 + [0]


def test_parts_near_zero_have_no_bars_and_are_not_listed() -> None:
    found = "\n".join(line.text for line in explained_lines(explained(*[-1e-5] * 5), 80))
    assert "5 words add 0.000 together" in found and "sum 0.000 of 0.000: from 0.000" in found
    assert "-" not in found and "|" not in found
    small = next(line.text for line in explained_lines(explained(0.01), 80) if "|" in line.text)
    assert small.endswith("+0.010                     |++")
