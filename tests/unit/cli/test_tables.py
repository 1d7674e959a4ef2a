"""Tables fit the width of the console, and nothing of them is cut."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from support.paths import ROOT
from support.records import run as made

from finetune.analysis.form import Form
from finetune.cli.console import Terminal, facts_table
from finetune.cli.run_tables import record_table, runs_table, summary_table
from finetune.cli.tables import Column, FittedTable, as_table, columns, short_model
from finetune.commands.table.declaration import PaperTable as PaperTable
from finetune.commands.table.declaration import load_table, table_files
from finetune.commands.table.forms import paper_form, runs_form
from finetune.commands.table.lines import TableLine, lines_of
from finetune.runs.recipe_diff import listed_differences
from finetune.runs.record import ListedRun
from finetune.runs.record_files import all_records, listed_runs

WIDTHS = (40, 60, 80, 120, 200)
WORDS = ("a", "longer-word", "안녕하세요", "두 단어", "", "2026-11-21T09:42:30+00:00", "two\nlines", "x" * 90)


def printed(table: object, width: int) -> str:
    console = Terminal()
    console.width = width
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def squeezed(text: str) -> str:
    """The text without spaces, borders and line ends, which folding adds."""
    return re.sub(r"[\s│┃]", "", text)


def drawn(seed: int, count: int = 12) -> FittedTable:
    draw = random.Random(seed)
    rows = [(draw.choice(WORDS), f"{number:010d}", draw.choice(WORDS), draw.choice(WORDS)) for number in range(count)]
    headings = [Column(name="name", names=True), *columns("id"), Column(name="text", words=True), Column(name="model")]
    return FittedTable(title="all runs", columns=headings, rows=rows, notes=["a note " * 20])


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


@pytest.mark.parametrize("width", [80, 120])
def test_what_fits_looks_as_richs_own_table(width: int) -> None:
    rows = [
        ("a", "0001", "안녕하세요"),
        ("longer-word", "0002", "2026-11-21T09:42:30+00:00"),
        ("tab", "3", "two\nlines"),
    ]
    theirs = Table("name", "id", "finished", title="runs", title_justify="left")
    for row in rows:
        theirs.add_row(*row)
    console = Console(width=width, markup=False, emoji=False, highlight=False, force_terminal=False)
    with console.capture() as captured:
        console.print(theirs)
    ours = printed(FittedTable(title="runs", columns=columns("name", "id", "finished"), rows=rows), width)
    assert [line.rstrip() for line in ours.splitlines()] == [line.rstrip() for line in captured.get().splitlines()]


def test_what_is_dropped_comes_in_an_order() -> None:
    rows = [("google-bert/bert-base-cased", "cola", "", str(n), "84.1") for n in range(10, 13)]
    model = Column(name="model", names=True, short=short_model)
    table = FittedTable(title="T", columns=[model, *columns("task", "empty", "seed", "score")], rows=rows)
    assert "empty" in printed(table, 200)
    assert "google-bert/" in printed(table, 56) and "empty" not in printed(table, 56)
    short = printed(table, 45)
    assert "model" in short.splitlines()[2] and "google-bert/" not in short
    assert printed(table, 40).splitlines()[0].startswith("T (model")
    assert "84.1" in printed(table, 12)


def test_numbers_that_are_equal_stay_in_their_column() -> None:
    rows = [(f"metric {n}", "dev", "0.0", f"{n}.5") for n in range(3)]
    table = FittedTable(title="T", columns=columns("metric", "split", "B - A", "p", right=["B - A", "p"]), rows=rows)
    assert printed(table, 30).splitlines()[0] == "T (split dev)"
    assert printed(table, 30).count("0.0") == 3


def test_names_that_would_become_the_same_stay_long() -> None:
    model = Column(name="model", names=True, short=short_model)
    table = FittedTable(title="T", columns=[model], rows=[("a/bert-base",), ("b/bert-base",)])
    assert squeezed(printed(table, 12)).count("a/bert-base") == 1


def test_a_table_that_cannot_fit_is_a_list() -> None:
    rows = [("cola", "0123456789", "1.5"), ("mrpc", "9876543210", "")]
    table = FittedTable(title="runs", columns=columns("task", "id", "score"), rows=["dev", *rows])
    assert printed(table, 18).splitlines() == [
        *("runs", "dev", "task: cola  id:", "  0123456789", "  score: 1.5", "task: mrpc  id:", "  9876543210")
    ]


def test_facts_have_a_line_each() -> None:
    facts = facts_table("f", {"name": "x" * 20, "none": None})
    assert "│ name │ xxxxxxxxxxxxxxxxxxxx │" in printed(facts, 40)
    assert printed(facts, 12).startswith("f\nname:") and printed(facts, 12).count("x") == 20


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_table_of_the_kept_records_fits(width: int) -> None:
    out = ROOT / "results"
    records = all_records(out)
    tables: list[FittedTable] = [runs_table(listed_runs(out)), summary_table(records), *map(record_table, records[:9])]
    for name in table_files():
        table = load_table(name)
        lines = lines_of(table, records)
        tables.append(as_table(runs_form(table, lines)))
        if any(row.column for row in table.row):
            tables.append(as_table(paper_form(table, lines)))
    for one in tables:
        text = printed(one, width)
        assert max(map(cell_len, text.splitlines())) <= width
        assert "…" not in text
    text = printed(tables[0], width)
    assert all(run.id in text for run in listed_runs(out))


@pytest.mark.parametrize("width", [*range(60, 121, 4)])
@pytest.mark.parametrize("form", [paper_form, runs_form])
def test_the_number_of_a_source_is_in_the_line_of_what_it_is_the_source_of(
    form: Callable[[PaperTable, list[TableLine]], Form], width: int
) -> None:
    names = ["glue"] if form is paper_form else ["glue", "squad", "ner"]
    for table in map(load_table, names):
        made = form(table, lines_of(table, all_records(ROOT / "results")))
        text = printed(replace(as_table(made), notes=[]), width)
        assert "[1]" in text
        assert re.findall(r"^.*(?:^|[│┃]|  ) *\[\d+\].*$", text, re.MULTILINE) == []


def test_ten_thousand_rows_take_seconds() -> None:
    rows = [("mrpc", f"{number:010d}", "minilm", "84.1") for number in range(10_000)]
    table = FittedTable(title="runs", columns=columns("task", "id", "model", "score"), rows=rows)
    started = time.process_time()
    assert len(printed(table, 80).splitlines()) > 10_000
    assert time.process_time() - started < 10  # about 1; quadratic would be minutes


def test_a_list_of_runs_names_the_settings_in_which_those_of_a_task_differ() -> None:
    records = [
        *(made(0.8), made(0.8, seed=2, frozen=True), made(0.8, seed=3, train={"learning_rate": 3e-5})),
        *(made(0.8, seed=seed, task="cola", frozen=True) for seed in (4, 5)),
    ]
    runs = [ListedRun.model_validate_json(record.model_dump_json()) for record in records]
    rates = "train.learning_rate"
    assert listed_differences(runs) == [
        *({"frozen": False, rates: 2e-5}, {"frozen": True, rates: 2e-5}, {"frozen": False, rates: 3e-5}, {}, {})
    ]
    lines = printed(runs_table(runs), 200).splitlines()
    assert "frozen True, train.learning_rate 2e-05" in lines[5]
    assert "no better than constant" in printed(summary_table(records), 300)


def test_settings_of_ten_thousand_runs_take_seconds() -> None:
    texts = [made(0.8, seed=seed, frozen=bool(seed % 2)).model_dump_json() for seed in range(100)]
    runs = [ListedRun.model_validate_json(text) for text in texts] * 100
    started = time.process_time()
    assert listed_differences(runs)[-1] == {"frozen": True}
    assert time.process_time() - started < 5  # about 0.2


def test_the_folder_of_a_path_is_its_short_name(tmp_path: Path) -> None:
    assert short_model(f"{tmp_path}/encoder/") == "encoder"
    assert short_model("minilm") == "minilm"


def test_a_column_that_stays_is_not_taken_into_the_title() -> None:
    headings = [Column(name=""), *columns("id", "model"), Column(name="label", stays=True)]
    rows = [("", "1", "bert" * 9, "good"), ("", "2", "bert" * 9, "good")]
    text = printed(FittedTable(title="", columns=headings, rows=rows), 44)
    assert text.splitlines()[0] == f"model {'bert' * 9}"
    assert text.count("good") == 2
    assert "(" not in text
