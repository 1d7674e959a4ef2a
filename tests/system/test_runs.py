"""Runs through the command line: what it leaves, runs of several recipes, and tasks and metrics of the user's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune, InProcess, assert_error
from support.paths import only_run
from support.predicted_files import written
from support.reports import read
from support.toys import OWN_TASK
from support.training import CPU

from finetune.models.device import resolve_precision
from finetune.runs.folder import read_predictions
from finetune.runs.record_files import all_records


def test_run_show_evaluate_and_run_again(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.learning_rate=2e-3", "train.epochs=6", "train.batch_size=8"]
    done = here("run", *settings, data=rte)
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path)
    assert {file.name for file in folder.iterdir()} - {".lock"} == {
        *("record.json", "recipe.toml", "events.jsonl", "predictions-dev.parquet", "model", "trained-on.npy")
    }

    record = json.loads((folder / "record.json").read_text())
    assert record["rows"] == {"train": 64, "dev": 24}
    native = resolve_precision("auto", CPU)
    assert (record["precision"], record["processes"], record["id"]) == (native, 1, folder.name)
    assert len(record["epochs"]) == 6
    assert record["scores"]["dev"] == record["epochs"][-1]["scores"]["dev"]
    assert record["recipe"]["train"]["warmup"] == 0.1
    assert all(record[key] for key in ("weights", "data", "versions", "device", "peak_memory_bytes", "seconds"))
    lines = read_predictions(folder / "predictions-dev.parquet")
    accuracy = sum(line["prediction"] == line["gold"] for line in lines) / len(lines)
    assert accuracy == record["scores"]["dev"]["accuracy"]
    assert lines[0]["text"] == "the dog sat" and sum(lines[0]["probabilities"]) == pytest.approx(1)
    assert {line["baseline:majority"] for line in lines} == {"entailment"}
    baselines, margin = record["baselines"]["dev"], record["margins"]["dev"]
    best = max(given["accuracy"] for given in baselines.values())
    assert baselines["majority"]["accuracy"] == 0.5 and baselines[margin["baseline"]]["accuracy"] == best
    assert margin["difference"] == pytest.approx(accuracy - best)

    again = here("run", *settings, data=rte)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "already done" in again.stderr
    assert here("show", "rte", "--json").stdout == here("show", folder.name[:6], "--json").stdout
    expected = {**record["scores"], "shared": {"dev": {folder.name: 24}}}  # the same texts in train and dev
    assert json.loads(here("evaluate", folder.name, "rte", "--json", data=rte).stdout) == expected

    (folder / "record.json").write_text("{")
    damaged = here("run", *settings, data=rte)
    assert (damaged.returncode, "record.json" in damaged.stderr) == (2, True)
    assert here("run", *settings, "--force", "--quiet", data=rte).stdout.startswith(f"rte {folder.name}  dev accuracy")
    assert json.loads((folder / "record.json").read_text())["scores"] == record["scores"]


def test_of_several_runs_one_that_fails_or_diverges_keeps_none_from_running(
    here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    done = here("run", "glue-rte", "glue-wnli", f"model={tiny_bert}", "train.epochs=1", "--quiet", data=rte)
    assert (done.returncode, done.stdout[:4]) == (2, "rte ")
    assert done.stderr.startswith("error: glue-wnli: no data")
    rates = "[1e-3, 2e-3, 10.0]"  # the last with this decay multiplies every weight by -999
    file = tmp_path / "mine.toml"
    file.write_text(f'task = "rte"\nmodel = "{tiny_bert}"\n[grid]\n"train.learning_rate" = {rates}\n')
    settings = ["train.epochs=3", "train.batch_size=8", "train.weight_decay=100.0", "train.warmup=0.0"]
    done = here("run", "mine.toml", *settings, data=rte)
    assert (done.returncode, "1 run diverged" in done.stdout) == (2, True)
    assert len(all_records(tmp_path / "results")) == 3


def test_a_task_of_ones_own_in_a_file(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK)
    (tmp_path / "mine.toml").write_text(f'task = "my_task.py:mine"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n')
    done = here("run", "mine.toml", "--quiet")
    assert (done.returncode, done.stdout[:5]) == (0, "mine "), done.stderr
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("'cat'", "'bird'"))
    assert "already done" not in here("run", "mine.toml").stderr  # the file is part of the id
    wrong = here("run", "mine.toml", "task=my_task.py:other")
    assert_error(wrong.stderr, "my_task.py", "'other'")
    (tmp_path / "my_task.py").write_text("import nothing_of_that_name\n")
    broken = here("run", "mine.toml")
    assert (broken.returncode, "ModuleNotFoundError" in broken.stderr) == (2, True)


FAST = ("train.epochs=2", "train.batch_size=8", "max_length=16", "text=review", "label=mark")


@pytest.mark.slow
def test_sizes_of_the_data_with_seeds_end_in_a_table_and_a_learning_curve(
    here: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    rows = [(f"the {'cat' if i % 2 else 'dog'} sat {i}", "good" if i % 2 else "bad") for i in range(240)]
    written(tmp_path / "reviews.csv", [("review", "mark"), *rows])
    done = here("run", "reviews.csv", f"model={tiny_bert}", *FAST, "--data-sizes", "50%,100%", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    assert "108 to 216 rows" in done.stdout.replace("\n", " ")
    records = all_records(tmp_path / "results")
    assert sorted(one.rows["train"] for one in records) == [108, 108, 216, 216]
    assert [one.recipe["train_share"] for one in records if one.rows["train"] == 108] == [0.5, 0.5]
    assert len({one.data for one in records}) == 1 and {one.rows["dev"] for one in records} == {24}
    assert here("report", *(one.id for one in records)).returncode == 0
    page = read((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Learning curve" in page.text and str(tmp_path) not in page.text
    whole: Any = next(one for one in records if one.rows["train"] == 216)  # what its report draws
    assert {split: sum(counts.values()) for split, counts in whole.labels.items()} == {"train": 216, "dev": 24}
    assert all(0 < epoch["dev_loss"] < 5 for epoch in whole.epochs)
    folder = tmp_path / "results" / "reviews.csv" / whole.id
    updates = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    rates = [rate for event in updates if event["event"] == "updates" for rate in event["rates"]]
    assert len(rates) == 54 and max(rates) <= whole.recipe["train"]["learning_rate"]


REFUSED = [
    (["--data-sizes", "0%,100%"], ["--data-sizes", "0%"]),
    (["train_share=0.1"], ["10 classes"]),
    (["frozen=true", "train.solver=logistic", "--seeds", "2"], ["train.solver = 'logistic'", "--seeds"]),
]


@pytest.mark.parametrize(("settings", "words"), REFUSED, ids=str)
def test_settings_that_cannot_be_are_one_line_and_nothing_is_trained(
    settings: list[str], words: list[str], in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    written(tmp_path / "many.csv", [("review", "mark"), *((f"the cat {i}", f"label {i % 10}") for i in range(60))])
    code, _, err = in_process("run", "many.csv", f"model={tiny_bert}", "max_length=16", *settings, data="")
    assert code == 2
    assert_error(err, *words)
    assert all_records(tmp_path / "results") == []
