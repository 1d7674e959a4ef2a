"""`run --data-sizes` through the command line, and what a run keeps for its report."""

import json
from pathlib import Path

import pytest
from support.cli import Finetune, assert_error
from support.predicted_files import written
from support.reports import read

from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records

PAIRS = (("dog", "bad"), ("cat", "good"))
ROWS = [(f"the {PAIRS[i % 2][0]} sat {i}", PAIRS[i % 2][1], ("web", "mail")[i % 3 == 0]) for i in range(240)]
FAST = ("train.epochs=2", "train.batch_size=8", "max_length=16", "text=review", "label=mark")


@pytest.fixture
def data(tmp_path: Path) -> str:
    written(tmp_path / "reviews.csv", [("review", "mark", "source"), *ROWS])
    return "reviews.csv"


@pytest.mark.slow
def test_sizes_and_seeds_end_in_a_table_and_an_answer(
    here: Finetune, data: str, tiny_bert: Path, tmp_path: Path
) -> None:
    done = here("run", data, f"model={tiny_bert}", *FAST, "--data-sizes", "50%,100%", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    assert "by size of the data" in done.stdout
    assert "(108 to 216 rows)" in done.stdout.replace("\n", " ")
    assert "more labels" in done.stdout.lower()
    assert "best is" not in done.stdout
    assert "best of" not in done.stdout
    assert "finetune compare" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("  finetune report")
    records = all_records(tmp_path / "results")
    assert sorted(one.rows["train"] for one in records) == [108, 108, 216, 216]
    assert [one.recipe["train_share"] for one in records if one.rows["train"] == 108] == [0.5, 0.5]
    assert len({one.data for one in records}) == 1
    assert all(one.rows["dev"] == 24 for one in records)
    made = here("report", *(one.id for one in records))
    assert made.returncode == 0, made.stderr
    page = read((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Learning curve" in page.text
    assert str(tmp_path) not in page.text


def test_a_run_keeps_what_its_report_draws(here: Finetune, data: str, tiny_bert: Path, tmp_path: Path) -> None:
    assert here("run", data, f"model={tiny_bert}", *FAST, "--quiet").returncode == 0
    (record,) = all_records(tmp_path / "results")
    assert isinstance(record, RunRecord)
    assert {split: sum(counts.values()) for split, counts in record.labels.items()} == {"train": 216, "dev": 24}
    assert all(0 < epoch["dev_loss"] < 5 for epoch in record.epochs)
    folder = tmp_path / "results" / "reviews.csv" / record.id
    updates = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    rates = [rate for event in updates if event["event"] == "updates" for rate in event["rates"]]
    assert len(rates) == 54
    assert max(rates) <= record.recipe["train"]["learning_rate"]
    assert here("report", record.id).returncode == 0
    found = read((tmp_path / "report.html").read_text(encoding="utf-8"))
    for title in ("Loss", "Calibration", "Rows"):
        assert title in found.text


@pytest.mark.parametrize("sizes", ["0%,100%", "200%,100%", "abc"])
def test_wrong_sizes_are_a_line(here: Finetune, data: str, sizes: str) -> None:
    done = here("run", data, "--data-sizes", sizes)
    assert done.returncode == 2
    assert_error(done.stderr, "--data-sizes", sizes.split(",")[0])


def test_a_size_with_fewer_rows_than_classes_is_a_line(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [(f"the cat {i}", f"label {i % 10}") for i in range(60)]
    written(tmp_path / "many.csv", [("review", "mark"), *rows])
    done = here("run", "many.csv", f"model={tiny_bert}", *FAST, "--data-sizes", "10%,12%", "--quiet")
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 2
    assert "fewer than the 10 classes" in done.stderr
