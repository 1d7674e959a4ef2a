"""Tables of results as files and on the screen: Markdown and CSV."""

import csv
import io
from pathlib import Path

from support.cli import Finetune, assert_error
from support.records import BASE, run

from finetune.analysis.table import markdown_table
from finetune.commands.table import ResultTable
from finetune.commands.table.declaration import PaperTable, load_table
from finetune.commands.table.lines import lines_of

MRPC = PaperTable.model_validate({"title": "T", "row": [{"name": "MRPC", "task": "mrpc", "metric": "accuracy"}]})


def test_formats_hold_the_same_and_escape(tmp_path: Path) -> None:
    records = [run(0.8612, seed=1, test=0.7), run(0.8712, seed=2, test=0.8), run(0.9, model="a|b<c>")]
    form = ResultTable(name="mine", table=MRPC, lines=lines_of(MRPC, records)).form()
    markdown = form.markdown("")
    assert "| 2 | 0 | 86.6 ± 0.7 | 80.3 to 93.0 |" in markdown
    assert "a\\|b<c>" in markdown
    assert "[1] Devlin et al. 2019, Table 5 (BERT-BASE)" in markdown
    assert "no run" in markdown
    assert f"- MRPC, {BASE}: defaults; runs 1, 2\n- MRPC, a|b<c>: defaults; run 1\n" in markdown
    table = list(csv.DictReader(io.StringIO(form.csv)))
    assert table[0]["run_ids"] == "1; 2"
    table_1 = load_table("table-1")
    first = ResultTable(name="table-1", table=table_1, lines=lines_of(table_1, [])).form().numbers
    (mrpc,) = [line for line in first if line["row"] == "MRPC" and line["model"] == BASE]
    given = mrpc["published_test"], mrpc["published_server"], mrpc["sources"]
    assert given == ("", "88.90", "Devlin et al. 2019, Table 1 (BERT-BASE)")
    assert (table[0]["runs"], table[0]["dev_mean"], table[0]["test_mean"]) == ("2", "86.620", "75.000")


def test_the_command(here: Finetune, tmp_path: Path) -> None:
    path = tmp_path / "results" / "mrpc" / "1"
    path.mkdir(parents=True)
    (path / "record.json").write_text(run(0.8612).model_dump_json())
    shown = here("table", "glue", "--form", "runs")
    assert (shown.returncode, shown.stderr) == (0, "")
    none = here("table", "glue", "--form", "runs", "--out", "nowhere")
    assert (none.returncode, "nowhere" in none.stderr) == (0, True)
    assert "no run" in none.stdout
    none = here("table", "stability")
    assert (none.returncode, none.stdout) == (2, "")
    assert_error(none.stderr, "results")
    assert "86.1" in shown.stdout
    assert "no run" in shown.stdout
    assert "server on hidden labels" in shown.stdout
    for form in ("runs", "paper"):
        assert here("table", "glue", "-o", "out.md", "--form", form).returncode == 0
        assert ("| Avg |" in (tmp_path / "out.md").read_text()) == (form == "paper")
    assert_error(here("table", "glue", "-o", "out.tex").stderr, "'.tex' was taken out")
    assert here("table", "glue", "-o", "out.csv").returncode == 0
    assert "dev_mean" in (tmp_path / "out.csv").read_text()
    assert_error(here("table", "squad", "--form", "paper").stderr, "SQuAD", "--form")
    wrong = here("table", "glue", "-o", "out.txt")
    assert wrong.returncode == 2
    assert_error(wrong.stderr, "out.txt", ".md, .csv")
    assert "Did you mean 'glue'?" in here("table", "glu").stderr
    (tmp_path / "mine.toml").write_text('title = "x"\n[[row]]\nname = "a"\ntask = "mrpc"\n')
    assert "mine.toml: row.0.metric" in here("table", "mine.toml").stderr
    (path.parent / "2").mkdir()
    (path.parent / "2" / "record.json").write_text("{")
    damaged = here("table", "glue", "--form", "runs")
    assert damaged.returncode == 0
    assert "86.1" in damaged.stdout
    (warned,) = damaged.stderr.splitlines()
    assert warned.startswith("warning: ")
    assert "2/record.json" in warned
    assert "table-7" in here("table").stdout


def test_a_markdown_table_keeps_pipes_in_their_cells() -> None:
    assert markdown_table(["a", "b"], [["x|y", 2], ["", None]]).splitlines() == [
        "| a | b |", "|---|---|", "| x\\|y | 2 |", "|  | None |",
    ]  # fmt: skip
