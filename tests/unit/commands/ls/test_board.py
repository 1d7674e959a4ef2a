"""`finetune ls`: my runs first, the runs of a task, and its leaderboard in every form."""

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune, assert_error
from support.records import run

import finetune
from finetune.errors import UserError
from finetune.runs.record import RunRecord
from finetune.runs.record_files import DamagedRecord


def saved(folder: Path, *records: RunRecord, **facts: Any) -> None:
    """Saves records as runs of a results folder, with ids of their own."""
    for record in records:
        number = f"{len(list(folder.glob('*/*'))):010x}"
        path = folder / record.task / number
        path.mkdir(parents=True)
        text = record.model_copy(update={"id": number, **facts}).model_dump_json()
        (path / "record.json").write_text(text, encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two settings of mrpc with two seeds each, one on other rows, and a run of another task."""
    folder = tmp_path / "results"
    saved(folder, run(0.85, seed=1), run(0.86, seed=2), run(0.75, seed=1, frozen=True), run(0.74, seed=2, frozen=True))
    saved(folder, run(0.9, data="other", rows=40, limit=40), run(0.6, task="rte"))
    return folder


def test_the_board_in_the_terminal(here: Finetune, results: Path) -> None:
    shown = here("ls", "mrpc", "--board")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "mrpc: 3 settings, 5 runs" in shown.stdout
    assert "frozen=true" in shown.stdout
    assert "2 versions of the data are not compared" in shown.stdout
    assert "rte" not in shown.stdout


def test_the_board_as_files(here: Finetune, results: Path, tmp_path: Path) -> None:
    for name in ("b.md", "b.csv"):
        done = here("ls", "mrpc", "--board", "-o", name)
        assert (done.returncode, done.stdout) == (0, "")
    page, table = ((tmp_path / name).read_text(encoding="utf-8") for name in ("b.md", "b.csv"))
    assert page.startswith("<!-- Generated: finetune ls mrpc --board -o b.md -->\n# mrpc: 3 settings, 5 runs\n")
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == 1 + 3
    assert "frozen=true" in page
    first, *_ = csv.DictReader(io.StringIO(table))
    assert (first["task"], first["seeds"], float(first["score"])) == ("mrpc", "2", pytest.approx(0.855))
    assert_error(here("ls", "mrpc", "--board", "-o", "b.txt").stderr, ".txt", ".md, .csv")
    for name in ("b.html", "b.tex"):
        assert_error(here("ls", "mrpc", "--board", "-o", name).stderr, f"'{Path(name).suffix}' was taken out")
    (tmp_path / "mine.csv").write_text("a,b\n", encoding="utf-8")
    assert_error(here("ls", "mrpc", "--board", "-o", "mine.csv").stderr, "mine.csv already exists")
    assert_error(here("ls", "mrpc", "-o", "c.md").stderr, "c.md", "--board")


def test_json_and_python_have_the_same_lines(here: Finetune, results: Path) -> None:
    lines = [json.loads(line) for line in here("ls", "mrpc", "--board", "--json").stdout.splitlines()]
    assert [line["seeds"] for line in lines] == [2, 2, 1]
    frame = finetune.ls("mrpc", board=True, out=results).frame
    assert frame["score"].tolist() == pytest.approx([line["score"] for line in lines])
    assert finetune.ls("rte", out=results).runs["task"].tolist() == ["rte"]


def test_mistakes_are_one_line(here: Finetune, results: Path) -> None:
    assert_error(here("ls", "--board").stderr, "a leaderboard is of one task", "mrpc, rte")
    assert_error(here("ls", "mprc", "--board").stderr, "'mprc' names no finished run", "mrpc")
    assert_error(here("ls", "0000000005").stderr, "is a run, of rte", "finetune ls rte")
    assert_error(here("ls", "0000000005", "--board").stderr, "is a run, of rte")
    assert_error(here("ls", "mprc").stderr, "'mprc' names no finished run")
    assert_error(here("ls", "--board", "--out", "nowhere").stderr, "nowhere")


def test_what_a_mistake_advises_names_the_folder_of_the_runs(here: Finetune, results: Path, tmp_path: Path) -> None:
    results.rename(tmp_path / "my runs")
    (tmp_path / "new.csv").write_text("text,label\na,b\n", encoding="utf-8")
    for typed, advised in (
        ("ls 0000000005 --board", "finetune ls rte --out 'my runs'"),
        ("ls mrpc -o c.html", "finetune ls mrpc --board -o c.html --out 'my runs'"),
        ("compare 0000000000 new.csv", "finetune run new.csv --out 'my runs'"),
        ("predict new.csv new.csv", "finetune run new.csv --out 'my runs'"),
    ):
        assert_error(here(*typed.split(), "--out", "my runs").stderr, advised)


def test_broken_unfinished_and_other_runs_are_left_out(here: Finetune, results: Path) -> None:
    (results / "mrpc" / "0000000000" / "record.json").write_text("{", encoding="utf-8")
    (results / "mrpc" / "begun").mkdir()
    (results / "mrpc" / "begun" / "events.jsonl").write_text('{"event": "start", "time": 1}\n', encoding="utf-8")
    saved(results, run(0.99, task="rte"))
    (results / "rte" / "0000000007").rename(results / "mrpc" / "0000000007")  # moved by hand
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecord)
        done = here("ls", "mrpc", "--board")
    assert done.returncode == 0
    assert "3 settings, 4 runs" in done.stdout
    assert "99.0" not in done.stdout
    assert "1 run without scores yet is left out" in done.stderr
    with pytest.raises(UserError, match="names no finished run"):
        finetune.ls("sst2", board=True, out=results)


def test_my_runs_come_first_and_of_very_many_the_latest(here: Finetune, results: Path) -> None:
    shown = here("ls").stdout
    assert 0 <= shown.index("0000000005") < shown.index("recipes") < shown.index("tasks")
    several = [run(0.5 + seed / 1000, seed=seed, task="cola") for seed in range(60)]
    for seed, record in enumerate(several):
        saved(results, record.model_copy(update={"finished": f"2026-02-01T00:{seed:02d}:00+00:00"}))
    shown = here("ls").stdout
    assert "the latest 30 of 66 runs" in shown
    assert shown.count("2026-02-01") == 30
    assert here("ls", "cola").stdout.count("2026-02-01") == 60
    assert len(here("ls", "--json").stdout.splitlines()) == 66
