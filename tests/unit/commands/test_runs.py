"""`finetune ls` and `finetune show`: my runs, the leaderboard of a task, and recipes."""

import csv
import io
import json
import tomllib
import warnings
from pathlib import Path

import pytest
from support.cli import Finetune
from support.records import run

import finetune
from finetune.runs.record import RunRecord
from finetune.runs.record_files import DamagedRecord
from finetune.training.targets import RECIPES


def save(folder: Path, *records: RunRecord) -> None:
    """Saves records as runs of a results folder, with ids of their own."""
    for record in records:
        number = f"{len(list(folder.glob('*/*'))):010x}"
        path = folder / record.task / number
        path.mkdir(parents=True)
        (path / "record.json").write_text(record.model_copy(update={"id": number}).model_dump_json(), encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two settings of mrpc with two seeds each, one on other rows, and a run of another task."""
    folder = tmp_path / "results"
    save(folder, run(0.85, seed=1), run(0.86, seed=2), run(0.75, seed=1, frozen=True), run(0.74, seed=2, frozen=True))
    save(folder, run(0.9, data="other", rows=40, limit=40), run(0.6, task="rte"))
    return folder


def test_the_board_is_the_same_in_every_form(here: Finetune, results: Path, tmp_path: Path) -> None:
    shown = here("ls", "mrpc", "--board").stdout
    assert "mrpc: 3 settings, 5 runs" in shown and "2 versions of the data are not compared" in shown
    lines = [json.loads(line) for line in here("ls", "mrpc", "--board", "--json").stdout.splitlines()]
    expected = [("2", 0.855), ("2", 0.745), ("1", 0.9)]
    assert [(str(line["seeds"]), line["score"]) for line in lines] == [
        (n, pytest.approx(score)) for n, score in expected
    ]
    assert finetune.ls("mrpc", board=True, out=results).frame["score"].tolist() == [line["score"] for line in lines]
    for name in ("b.md", "b.csv"):
        done = here("ls", "mrpc", "--board", "-o", name)
        assert (done.returncode, done.stdout) == (0, "")
    page, table = ((tmp_path / name).read_text(encoding="utf-8") for name in ("b.md", "b.csv"))
    assert page.startswith("<!-- Generated: finetune ls mrpc --board -o b.md -->\n# mrpc: 3 settings, 5 runs\n")
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == 1 + 3 and "frozen=true" in page
    written = [(row["seeds"], float(row["score"])) for row in csv.DictReader(io.StringIO(table))]
    assert written == [(n, pytest.approx(score)) for n, score in expected]


def test_broken_unfinished_and_other_runs_are_left_out(here: Finetune, results: Path) -> None:
    (results / "mrpc" / "0000000000" / "record.json").write_text("{", encoding="utf-8")
    (results / "mrpc" / "begun").mkdir()
    (results / "mrpc" / "begun" / "events.jsonl").write_text('{"event": "start", "time": 1}\n', encoding="utf-8")
    save(results, run(0.99, task="rte"))
    (results / "rte" / "0000000007").rename(results / "mrpc" / "0000000007")  # moved by hand
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecord)
        done = here("ls", "mrpc", "--board")
    assert (done.returncode, "3 settings, 4 runs" in done.stdout, "99.0" in done.stdout) == (0, True, False)
    assert "1 run without scores yet is left out" in done.stderr


def test_a_recipe_is_printed_shown_and_changed(here: Finetune, tmp_path: Path) -> None:
    text = here("init", "glue-rte").stdout
    assert text == (RECIPES / "glue-rte.toml").read_text()
    assert here("init", "glue-rte", "seed=3").returncode == 2
    (tmp_path / "glue-rte.toml").write_text(text.replace("epochs = 3", "epochs = 2"))
    assert json.loads(here("show", "glue-rte.toml", "--json").stdout)["train"]["epochs"] == 2
    resolved = tomllib.loads(here("show", "glue-rte.toml", "seed=3").stdout)
    assert (resolved["init_seed"], resolved["train"]["weight_decay"]) == (3, 0.01)
    recipe = finetune.show("glue-rte", seed=3)
    assert (recipe.task, recipe.init_seed, recipe.options["windows"]) == ("rte", 3, False)
