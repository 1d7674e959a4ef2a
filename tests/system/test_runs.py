"""Runs through the command line: what it prints, what it leaves, and runs of several recipes."""

import json
from pathlib import Path

import pytest
from support.cli import Finetune, InProcess
from support.paths import only_run
from support.records import change_config, change_record
from support.runs import RTE, FinishedRun
from support.toys import OWN_TASK, write_columns
from support.training import CPU

from finetune.models.device import resolve_precision
from finetune.runs.folder import read_predictions


def test_run_show_evaluate_and_run_again(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.learning_rate=2e-3", "train.epochs=6", "train.batch_size=8"]
    done = here("run", *settings, data=rte)
    assert done.returncode == 0, done.stderr
    assert "epoch 6/6" in done.stderr
    assert "this run" in done.stdout
    assert "majority" in done.stdout
    assert "tfidf-logistic" in done.stdout
    assert "published" not in done.stdout  # there is nothing published of this model
    folder = only_run(tmp_path)
    assert {file.name for file in folder.iterdir()} - {".lock"} == {
        *("record.json", "recipe.toml", "events.jsonl", "predictions-dev.parquet", "model", "trained-on.npy")
    }

    record = json.loads((folder / "record.json").read_text())
    assert record["rows"] == {"train": 64, "dev": 24}
    assert record["baselines"]["dev"]["majority"]["accuracy"] == 0.5
    native = resolve_precision("auto", CPU)
    assert (record["precision"], record["processes"], record["id"]) == (native, 1, folder.name)
    assert len(record["epochs"]) == 6
    assert record["scores"]["dev"] == record["epochs"][-1]["scores"]["dev"]
    assert record["recipe"]["train"]["warmup"] == 0.1
    assert all(record[key] for key in ("weights", "data", "versions", "device", "peak_memory_bytes", "seconds"))

    lines = read_predictions(folder / "predictions-dev.parquet")
    right = sum(line["prediction"] == line["gold"] for line in lines) / len(lines)
    assert right == record["scores"]["dev"]["accuracy"]
    assert lines[0]["text"] == "the dog sat"
    assert sum(lines[0]["probabilities"]) == pytest.approx(1)
    assert {line["baseline:majority"] for line in lines} == {"entailment"}

    margin, accuracy = record["margins"]["dev"], record["scores"]["dev"]["accuracy"]
    best = max(given["accuracy"] for given in record["baselines"]["dev"].values())
    assert record["baselines"]["dev"][margin["baseline"]]["accuracy"] == best
    assert margin["difference"] == pytest.approx(accuracy - best)

    again = here("run", *settings, data=rte)
    assert again.returncode == 0
    assert "already done" in again.stderr
    assert "versions" in again.stderr
    assert again.stdout == done.stdout

    shown = here("show", folder.name[:6], "--predictions", "3")
    assert shown.returncode == 0
    assert "the dog sat" in shown.stdout
    assert here("show", "rte", "--json").stdout == here("show", str(folder), "--json").stdout

    scores = here("evaluate", folder.name, "rte", "--json", data=rte)
    shared = {"dev": {folder.name: 24}}  # the same texts in train and dev
    assert json.loads(scores.stdout) == {**record["scores"], "shared": shared}
    unnamed = {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    change_config(folder / "model", **unnamed)
    noted = here("evaluate", folder.name, "rte", "--json", data=rte)
    assert json.loads(noted.stdout) == {**record["scores"], "shared": shared}
    assert "entailment, not_entailment" in noted.stderr
    listed = here("ls")
    assert folder.name in listed.stdout
    assert "glue-mrpc" in listed.stdout

    (folder / "record.json").write_text("{")
    damaged = here("run", *settings, data=rte)
    assert damaged.returncode == 2
    assert "record.json" in damaged.stderr
    forced = here("run", *settings, "--force", "--quiet", data=rte)
    assert forced.returncode == 0
    assert forced.stdout.startswith(f"rte {folder.name}  dev accuracy")
    assert json.loads((folder / "record.json").read_text())["scores"] == record["scores"]


def test_changed_library_versions_are_said(here: Finetune, rte: Path, tiny_bert: Path, copied_run: FinishedRun) -> None:
    file = copied_run("rte") / "record.json"
    change_record(file, versions=json.loads(file.read_text())["versions"] | {"torch": "1.0"})
    settings = [f"{name}={value}" for name, value in RTE.items()]
    assert "torch 1.0 -> " in here("run", "glue-rte", f"model={tiny_bert}", *settings, data=rte).stderr


def test_seeds_and_grids_run_each_point_once(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f'task = "rte"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n[grid]\n"train.learning_rate" = [1e-3, 2e-3]\n'
    )
    done = here("run", "mine.toml", "--seeds", "2", "--limit", "16", "--json", data=rte)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len({record["id"] for record in records}) == 4
    assert {(r["recipe"]["seed"], r["recipe"]["train"]["learning_rate"]) for r in records} == {
        *((42, 1e-3), (42, 2e-3), (43, 1e-3), (43, 2e-3))
    }
    assert records[0]["rows"] == {"train": 16, "dev": 16}
    assert done.stderr == ""
    table = here("run", "mine.toml", "--seeds", "2", "--limit", "16", data=rte)
    assert table.stderr.count("already done") == 4
    assert "all runs" in table.stdout


def test_of_several_runs_one_that_fails_keeps_none_from_running(here: Finetune, rte: Path, tiny_bert: Path) -> None:
    done = here("run", "glue-rte", "glue-wnli", f"model={tiny_bert}", "train.epochs=1", "--quiet", data=rte)
    assert done.returncode == 2
    assert done.stdout.startswith("rte ")
    assert done.stderr.startswith("error: glue-wnli: no data")


def test_runs_that_diverge_are_counted(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    rates = "[1e-3, 2e-3, 10.0]"  # the last with this decay multiplies every weight by -999
    file = tmp_path / "mine.toml"
    file.write_text(f'task = "rte"\nmodel = "{tiny_bert}"\n[grid]\n"train.learning_rate" = {rates}\n')
    settings = ["train.epochs=3", "train.batch_size=8", "train.weight_decay=100.0", "train.warmup=0.0"]
    done = here("run", "mine.toml", *settings, data=rte)
    assert done.returncode == 2
    assert "training has diverged" in done.stderr
    assert "1 run diverged" in done.stdout


def test_the_diagnostic_set_is_predicted_by_an_mnli_model(
    in_process: InProcess, tmp_path: Path, tiny_bert: Path
) -> None:
    """AX has no labels in its official file: answers without them, Matthews with a labelled file."""
    mnli = "index\tsentence1\tsentence2\tgold_label"
    lines = [f"{i}\tthe cat sat\ta dog ran\t{('entailment', 'neutral', 'contradiction')[i % 3]}" for i in range(12)]
    (tmp_path / "MNLI").mkdir()
    (tmp_path / "diagnostic").mkdir()
    for file in ("train.tsv", "dev_matched.tsv", "dev_mismatched.tsv"):
        (tmp_path / "MNLI" / file).write_text("\n".join([mnli, *lines]) + "\n")
    (tmp_path / "diagnostic" / "diagnostic.tsv").write_text("index\tsentence1\tsentence2\n0\ta\tb\n1\tc\td\n")
    code, out, _ = in_process("run", "glue-mnli", f"model={tiny_bert}", "train.epochs=1", "--json", data=tmp_path)
    record = json.loads(out)
    assert (code, set(record["scores"])) == (0, {"dev", "dev-mismatched"})
    code, _, err = in_process("evaluate", record["id"], "ax", data=tmp_path)
    assert (code, "have no labels" in err) == (2, True)
    full = "Premise\tHypothesis\tLabel\na\tb\tneutral\nc\td\tentailment\n"
    (tmp_path / "diagnostic" / "diagnostic-full.tsv").write_text(full)
    code, out, _ = in_process("evaluate", record["id"], "ax", "--json", data=tmp_path)
    assert code == 0
    assert set(json.loads(out)["test"]) == {"matthews"}


def test_a_task_of_ones_own_in_a_file(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK)
    (tmp_path / "mine.toml").write_text(f'task = "my_task.py:mine"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n')
    done = here("run", "mine.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mine ")
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("'cat'", "'bird'"))
    assert "already done" not in here("run", "mine.toml").stderr  # the file is part of the id
    wrong = here("run", "mine.toml", "task=my_task.py:other")
    assert "my_task.py: has no task 'other'" in wrong.stderr
    (tmp_path / "my_task.py").write_text("import nothing_of_that_name\n")
    broken = here("run", "mine.toml")
    assert broken.returncode == 2
    assert "ModuleNotFoundError" in broken.stderr


@pytest.mark.slow
def test_a_score_that_is_no_number_keeps_no_command_from_working(
    here: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    """A task's own metric may be undefined; from epoch 2 on this one is."""
    undefined = """
from finetune.metrics.metric import Metric

calls = []
def odd(gold, answers):
    calls.append(1)
    return 0.5 if len(calls) < 2 else float('nan')
"""
    task = OWN_TASK.replace("TASKS = [", f"{undefined}\n\nTASKS = [").replace(
        "metrics=(accuracy,)", "metrics=(Metric('odd', odd), accuracy)"
    )
    (tmp_path / "odd.py").write_text(task)
    (tmp_path / "odd.toml").write_text('task = "odd.py:mine"\n')
    settings = ["odd.toml", f"model={tiny_bert}", "train.epochs=2", "train.select=best"]
    for _ in range(2):  # the second time the records are read again
        done = here("run", *settings, "--seeds", "2")
        assert done.returncode == 0, done.stderr
        assert "dev: odd is nan" in done.stdout
        assert "accuracy" in done.stdout
    names = [file.parent.name for file in tmp_path.glob("results/mine/*/record.json")]
    record = json.loads(
        (tmp_path / "results" / "mine" / names[0] / "record.json").read_text(), parse_constant=pytest.fail
    )
    assert record["scores"]["dev"]["odd"] is None
    task_file = ["--task", "odd.py:mine"]  # which is not run without its name
    for arguments in (["ls"], ["show", names[0]], ["compare", *names, *task_file], ["report", *names]):
        shown = here(*arguments)
        assert shown.returncode == 0, shown.stderr


def test_options_of_a_task_are_settings(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    """Next to the recipe's own keys, in [options], and in [grid]; at their defaults they do not change a run's id."""
    data = tmp_path / "data"
    data.mkdir()
    write_columns(data, ("eng.train", "eng.testa", "eng.testb"), types=("PER", "LOC"))
    settings = ["conll-2003", f"model={tiny_bert}", "max_length=64", "train.epochs=1"]
    code, _, err = in_process("run", *settings, data=data)
    assert code == 0, err
    code, _, err = in_process("run", *settings, "context=document", data=data)
    assert "already done" in err
    code, _, err = in_process("run", *settings, "options.context=sentence", data=data)
    assert "already done" not in err
    code, _, err = in_process("run", *settings, "context=sentence", data=data)
    assert "already done" in err
    records = [json.loads(file.read_text()) for file in tmp_path.glob("results/conll-2003/*/record.json")]
    assert {record["options"]["context"] for record in records} == {"document", "sentence"}
    assert len({record["features"]["train"] for record in records}) == 2
    code, out, _ = in_process("show", "codah", "fold=2", data=data)
    assert "fold = 2" in out
    (tmp_path / "folds.toml").write_text('task = "codah"\n[grid]\nfold = [0, 9]\n')
    code, _, err = in_process("run", "folds.toml", data=data)
    assert (code, "'fold' is 9" in err) == (2, True)
    code, _, err = in_process("run", "codah", "folds=1", data=data)
    assert (code, "Did you mean 'fold'" in err) == (2, True)
    code, _, err = in_process("run", "codah", "options.folds=1", data=data)
    assert (code, "Did you mean 'fold'" in err) == (2, True)
