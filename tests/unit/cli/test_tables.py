"""Tables fit the width of the console, and nothing of them is cut."""

import random
import re
import time
from collections import Counter

import pytest
from rich.cells import cell_len
from support.paths import ROOT
from support.records import run as made

from finetune.analysis.run_tables import record_table, summary_table
from finetune.analysis.table import TextTable, facts_table
from finetune.cli.console import PrintedTable, Terminal
from finetune.commands.ls import runs_table
from finetune.commands.table.declaration import PaperTable as PaperTable
from finetune.commands.table.declaration import load_table, table_files
from finetune.commands.table.forms import paper_form, runs_form
from finetune.commands.table.lines import lines_of
from finetune.runs.record_files import all_records
from finetune.runs.seeds import settings_by_task

WIDTHS = (40, 60, 80, 120, 200)
WORDS = ("a", "longer-word", "안녕하세요", "두 단어", "", "2026-11-21T09:42:30+00:00", "two\nlines", "x" * 90)


def printed(table: TextTable, width: int) -> str:
    console = Terminal()
    console.width = width
    with console.capture() as captured:
        console.print(PrintedTable(table))
    return captured.get()


def squeezed(text: str) -> str:
    """The text without spaces, borders and line ends, which folding adds."""
    return re.sub(r"[\s│┃]", "", text)


def drawn(seed: int, count: int = 12) -> TextTable:
    draw = random.Random(seed)
    rows = [(draw.choice(WORDS), f"{number:010d}", draw.choice(WORDS), draw.choice(WORDS)) for number in range(count)]
    columns, notes = ["name", "id", "text", "model"], ["a note " * 20]
    return TextTable(title="all runs", columns=columns, words=["text"], rows=rows, notes=notes)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(8))
def test_no_line_is_wider_than_the_console_and_no_cell_is_cut(width: int, seed: int) -> None:
    table = drawn(seed)
    text = printed(table, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text
    for row in table.rows:
        assert row[1] in text, "an id is never folded"
    letters = Counter(squeezed("".join(str(cell) for row in table.rows for cell in row)))
    assert letters <= Counter(squeezed(text)), "no letter is missing"


def test_a_table_that_cannot_fit_is_a_list() -> None:
    rows = [("cola", "0123456789", "1.5"), ("mrpc", "9876543210", "")]
    table = TextTable(title="runs", columns=["task", "id", "score"], rows=rows)
    assert printed(table, 30).splitlines()[0] == "runs" and "│ 0123456789 │" in printed(table, 80)
    assert "task: cola id: 0123456789 score: 1.5" in " ".join(printed(table, 20).split())
    assert "┃" not in printed(table, 20)


def test_a_column_without_cells_is_left_out() -> None:
    text = printed(TextTable(title="", columns=["id", "encoder", "label"], rows=[("1", "", "good")]), 80)
    assert "encoder" not in text and "label" in text


def test_facts_have_a_line_each() -> None:
    facts = facts_table("f", {"name": "x" * 20, "none": None})
    assert "│ name │ xxxxxxxxxxxxxxxxxxxx │" in printed(facts, 40)
    assert printed(facts, 12).startswith("f\nname:") and printed(facts, 12).count("x") == 20


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_table_of_the_kept_records_fits(width: int) -> None:
    out = ROOT / "results"
    records = all_records(out)
    tables: list[TextTable] = [runs_table(all_records(out)), summary_table(records), *map(record_table, records[:9])]
    for name in table_files():
        table = load_table(name)
        lines = lines_of(table, records)
        tables.append(runs_form(table, lines))
        if any(row.column for row in table.row):
            tables.append(paper_form(table, lines))
    for one in tables:
        text = printed(one, width)
        assert max(map(cell_len, text.splitlines())) <= width
        assert "…" not in text
    text = printed(tables[0], width)
    assert all(run.id in text for run in all_records(out))


def test_ten_thousand_rows_take_seconds() -> None:
    rows = [("mrpc", f"{number:010d}", "minilm", "84.1") for number in range(10_000)]
    table = TextTable(title="runs", columns=["task", "id", "model", "score"], rows=rows)
    started = time.process_time()
    assert len(printed(table, 80).splitlines()) > 10_000
    assert time.process_time() - started < 20  # about 3; quadratic would be minutes


def test_a_list_of_runs_names_the_settings_in_which_those_of_a_task_differ() -> None:
    records = [
        *(made(0.8), made(0.8, seed=2, frozen=True), made(0.8, seed=3, train={"learning_rate": 3e-5})),
        *(made(0.8, seed=seed, task="cola", frozen=True) for seed in (4, 5)),
    ]
    rates = "train.learning_rate"
    assert settings_by_task(records) == [
        *({"frozen": False, rates: 2e-5}, {"frozen": True, rates: 2e-5}, {"frozen": False, rates: 3e-5}, {}, {})
    ]
    lines = printed(runs_table(records), 200).splitlines()
    assert "frozen True, train.learning_rate 2e-05" in lines[5]
    assert "no better than constant" in printed(summary_table(records), 300)
