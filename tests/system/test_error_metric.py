"""A task of a user's own file whose metric is an error: lower is better, and it is not shown times 100."""

import contextlib
import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from support.cli import Finetune
from support.records import made_record
from support.reports import read

import finetune as package
from finetune.analysis.run_tables import summary_lines, summary_table
from finetune.commands.table.declaration import PaperTable, TableRow
from finetune.commands.table.forms import numbers_of, runs_form
from finetune.commands.table.lines import lines_of
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord, SavedMetric, saved_metrics
from finetune.runs.record_files import load_record
from finetune.runs.seeds import failed

TASK = """
from finetune.metrics import Metric
from finetune.task_types import Rows, SentenceRow, SentenceTask

def mean_error(gold, answers):
    return sum(abs(a - b) for a, b in zip(gold, answers)) / len(gold)

def read(source, split):
    rows = [SentenceRow(id=str(i), text='cat' if i % 2 else 'dog', gold=40.0 + 20 * (i % 2)) for i in range(32)]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, metrics=(Metric('error', mean_error, scale=1, greater_is_better=False),))
]
"""


def made(score: float, *, seed: int, epochs: int = 1) -> RunRecord:
    """A record with this error on dev, next to the baselines' 20 and 12."""
    recipe: dict[str, Any] = {"task": "mine", "model": "m", "seed": seed, "limit": None, "train": {"epochs": epochs}}
    return made_record(
        "mine",
        id=f"{epochs}{seed}",
        recipe=recipe,
        headline="error",
        scores={"dev": {"error": score}},
        baselines={"dev": {"mean": {"error": 20.0}, "tfidf-ridge": {"error": 12.0}}},
        rows={"dev": 32},
        metrics={"error": SavedMetric(scale=1, greater_is_better=False)},
    )


RECORDS = [made(9.0, seed=1), made(21.0, seed=2), made(30.0, seed=1, epochs=3)]


def test_a_record_keeps_only_what_is_not_the_default() -> None:
    error, share = Metric("error", scale=1, greater_is_better=False), Metric("share")
    assert saved_metrics((error, share)) == {"error": SavedMetric(scale=1, greater_is_better=False)}
    again = RunRecord.model_validate_json(RECORDS[0].model_dump_json())
    assert again == RECORDS[0]
    assert (again.metric("error"), again.metric("share")) == (error, share)


def test_the_lowest_error_is_the_best_of_seeds_and_of_settings() -> None:
    table = summary_table(RECORDS)
    cells = {column: [row[index] for row in table.rows] for index, column in enumerate(table.columns)}
    assert (cells["mean"], cells["best"], cells["best baseline"]) == (["15.0", "30.0"], ["9.0", "30.0"], ["12.0"] * 2)
    assert [failed(record, "dev") for record in RECORDS] == [False, True, True]
    (line,) = summary_lines(RECORDS)
    assert "best of 2 settings on dev by error: train.epochs 1 " in line


def test_a_table_chooses_the_setting_with_the_lowest_error() -> None:
    table = PaperTable(title="Mine", row=[TableRow(name="mine", task="mine", metric="error")])
    (line,) = lines_of(table, RECORDS)
    assert line.runs == RECORDS[:2]
    assert "| 15.0 ± 8.5 |" in runs_form(table, [line]).markdown("")
    assert (numbers_of(line)["dev_mean"], numbers_of(line)["dev_sd"]) == ("15.000", "8.485")


@pytest.fixture
def errors(here: Finetune, tiny_bert: Path, tmp_path: Path) -> dict[Path, float]:
    """The folders of four runs, two seeds of two settings, with their errors on dev."""
    (tmp_path / "error.py").write_text(TASK)
    settings = "[train]\nepochs = 2\nselect = 'best'\n\n[grid]\n'train.learning_rate' = [0.001, 0.01]\n"
    (tmp_path / "error.toml").write_text(f'task = "error.py:mine"\nmodel = "{tiny_bert}"\n\n{settings}')
    done = here("run", "error.toml", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    records = {file.parent: load_record(file) for file in tmp_path.glob("results/mine/*/record.json")}
    found = {folder: record.scores["dev"]["error"] for folder, record in records.items()}
    for record in records.values():
        best = min(epoch["headline"] for epoch in record.epochs)
        assert record.scores["dev"]["error"] == best
        assert re.search(rf"epoch 2/2 .* best {best:.1f}\n", done.stderr)
    rates = {record.recipe["train"]["learning_rate"] for record in records.values()}
    means = {
        rate: fmean(r.scores["dev"]["error"] for r in records.values() if r.recipe["train"]["learning_rate"] == rate)
        for rate in rates
    }
    assert f"by error: train.learning_rate {min(means, key=means.__getitem__)} " in done.stdout
    return found


def test_every_command_shows_errors_as_they_are(here: Finetune, errors: dict[Path, float], tmp_path: Path) -> None:
    (a, error_a), (b, error_b), *_ = sorted(errors.items(), key=lambda pair: -pair[1])
    saved = json.loads((a / "record.json").read_text())
    assert saved["metrics"] == {"error": {"scale": 1.0, "greater_is_better": False, "magnitudes": False, "decimals": 1}}
    assert f"error {error_a:.1f}" in here("ls").stdout
    assert f" {error_a:.1f} " in here("show", a.name).stdout
    compared = here("compare", a.name, b.name, "--task", "error.py:mine").stdout
    assert "error (lower is better)" in compared
    assert f"{error_b - error_a:+.1f}" in compared
    with contextlib.chdir(tmp_path):
        found = package.compare(a, b, task="error.py:mine").frame
    assert found["difference"].tolist() == [pytest.approx(error_b - error_a)]
    evaluated = here("evaluate", a, "error.py:mine")
    assert evaluated.stdout == f"dev error {error_a:.1f}\n", evaluated.stderr
    (tmp_path / "new.csv").write_text("text,score\n" + "cat,60\ndog,40\n" * 16)
    predicted = here("predict", a, "new.csv", "label=score", "--task", "error.py:mine")
    assert f"\nerror {error_a:.1f}\n" in predicted.stdout, predicted.stderr
    reported = here("report", *errors, "-o", "all.html")
    assert reported.returncode == 0, reported.stderr
    text = read((tmp_path / "all.html").read_text(encoding="utf-8")).text
    assert f"{100 * error_a:.1f}" not in text
    assert f"{error_a:.1f}" in text
