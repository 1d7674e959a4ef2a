"""The real command line: what it prints, what it leaves behind, and one line with exit code 2 for each mistake."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toys import CPU, OWN_TASK, only_run, write_columns

from finetune.cli.console import standard_output
from finetune.models.device import resolve_precision
from finetune.runs.predictions import read_predictions

Finetune = Callable[..., subprocess.CompletedProcess[str]]
InProcess = Callable[..., tuple[int, str, str]]


def test_run_show_evaluate_and_run_again(
    finetune: Finetune, here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.learning_rate=2e-3", "train.epochs=6", "train.batch_size=8"]
    done = finetune("run", *settings, data=rte)
    assert done.returncode == 0, done.stderr
    assert "epoch 6/6" in done.stderr
    assert "this run" in done.stdout
    assert "majority" in done.stdout
    assert "tfidf-logistic" in done.stdout
    assert "published" not in done.stdout  # there is nothing published of this model
    folder = only_run(tmp_path)
    assert {file.name for file in folder.iterdir()} - {".lock"} == {
        *("record.json", "recipe.toml", "events.jsonl", "predictions-dev.parquet", "model")
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
    right = sum(line["answer"] == line["gold"] for line in lines) / len(lines)
    assert right == record["scores"]["dev"]["accuracy"]
    assert lines[0]["text"] == "the dog sat"
    assert sum(lines[0]["probabilities"]) == pytest.approx(1)
    assert {line["baseline:majority"] for line in lines} == {"entailment"}

    again = here("run", *settings, data=rte)
    assert again.returncode == 0
    assert "already done" in again.stderr
    assert "library versions are the same" in again.stderr
    assert again.stdout == done.stdout

    shown = here("show", folder.name[:6], "--predictions", "3")
    assert shown.returncode == 0
    assert "the dog sat" in shown.stdout
    assert here("show", "rte", "--json").stdout == here("show", str(folder), "--json").stdout

    scores = here("evaluate", folder.name, "rte", "--json", data=rte)
    assert json.loads(scores.stdout) == record["scores"]
    config = json.loads((folder / "model" / "config.json").read_text())
    unnamed = config | {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    (folder / "model" / "config.json").write_text(json.dumps(unnamed))
    noted = here("evaluate", folder.name, "rte", "--json", data=rte)
    assert json.loads(noted.stdout) == record["scores"]
    assert "does not name its labels: taken to be entailment, not_entailment, in that order" in noted.stderr
    listed = here("ls")
    assert folder.name in listed.stdout
    assert "glue-mrpc" in listed.stdout

    (folder / "record.json").write_text("{")
    damaged = here("run", *settings, data=rte)
    assert damaged.returncode == 2
    assert "is no readable record" in damaged.stderr
    forced = here("run", *settings, "--force", "--quiet", data=rte)
    assert forced.returncode == 0
    assert forced.stdout.startswith(f"rte {folder.name}  dev accuracy")
    assert json.loads((folder / "record.json").read_text())["scores"] == record["scores"]


def test_changed_library_versions_are_said(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1"]
    here("run", *settings, data=rte)
    file = only_run(tmp_path) / "record.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {"versions": record["versions"] | {"torch": "1.0"}}))
    assert "torch 1.0 -> " in here("run", *settings, data=rte).stderr


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
    rates = "[1e-3, 2e-3, 1e30]"
    file = tmp_path / "mine.toml"
    file.write_text(f'task = "rte"\nmodel = "{tiny_bert}"\n[grid]\n"train.learning_rate" = {rates}\n')
    done = here("run", "mine.toml", "train.epochs=2", data=rte)
    assert done.returncode == 2
    assert "training has diverged" in done.stderr
    assert "1 run diverged and is excluded from the mean" in done.stdout


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
    code, out, _ = in_process("evaluate", record["id"], "ax", "--predictions", "ax.parquet", data=tmp_path)
    assert (code, out) == (0, "no labels, so no scores\n")
    assert [line["gold"] for line in read_predictions(tmp_path / "ax.parquet")] == [None, None]
    full = "Premise\tHypothesis\tLabel\na\tb\tneutral\nc\td\tentailment\n"
    (tmp_path / "diagnostic" / "diagnostic-full.tsv").write_text(full)
    code, out, _ = in_process("evaluate", record["id"], "ax", "--json", data=tmp_path)
    assert code == 0
    assert set(json.loads(out)["test"]) == {"matthews"}


def test_check_shows_what_a_run_would_use(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    _, out, _ = in_process("check", "glue-rte", f"model={tiny_bert}", "--json", data=rte)
    found = json.loads(out)
    assert found["facts"]["train"]["rows"] == 64
    assert found["facts"]["training"]["updates"] == 6
    assert found["facts"]["model"]["layers"] == 2
    assert found["examples"][0]["tokens"][0][:4] == ["[CLS]", "the", "dog", "sat"]
    assert "[CLS] the dog sat" in in_process("check", "glue-rte", f"model={tiny_bert}", data=rte)[1]


def test_cp_gives_a_recipe_of_ones_own(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    assert here("cp", "glue-rte").returncode == 0
    text = (tmp_path / "glue-rte.toml").read_text()
    (tmp_path / "glue-rte.toml").write_text(text.replace("epochs = 3", "epochs = 2"))
    shown = here("show", "glue-rte.toml", "--json")
    assert json.loads(shown.stdout)["train"]["epochs"] == 2
    resolved = here("show", "glue-rte.toml", "seed=3").stdout
    assert "init_seed = 3" in resolved
    assert "weight_decay = 0.01" in resolved


def test_a_run_that_is_killed_goes_on(rte: Path, tiny_bert: Path, tmp_path: Path, finetune: Finetune) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=250", "train.batch_size=8"]
    command = [sys.executable, "-m", "finetune", "run", *settings]
    environment = os.environ | {"FINETUNE_DATA": str(rte)}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not list(tmp_path.glob("results/rte/*/checkpoint.pt")) and time.monotonic() < until:
        time.sleep(0.05)
    other = finetune("run", *settings, data=rte)
    running.kill()
    running.wait()
    assert other.returncode == 2
    assert "another process is at this very run" in other.stderr
    (folder,) = tmp_path.glob("results/rte/*")
    assert not (folder / "record.json").exists()
    resumed = finetune("run", *settings, data=rte)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming after update" in resumed.stderr
    assert len(json.loads((folder / "record.json").read_text())["epochs"]) == 250
    assert not (folder / "checkpoint.pt").exists()


def test_a_task_of_ones_own_in_a_file(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK)
    (tmp_path / "mine.toml").write_text(f'task = "my_task.py:mine"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n')
    done = here("run", "mine.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mine ")
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("'cat'", "'bird'"))
    assert "already done" not in here("run", "mine.toml").stderr  # the file is part of the id
    wrong = here("run", "mine.toml", "task=my_task.py:other")
    assert "my_task.py: has no task 'other'. It has mine" in wrong.stderr
    (tmp_path / "my_task.py").write_text("import nothing_of_that_name\n")
    broken = here("run", "mine.toml")
    assert broken.returncode == 2
    assert "my_task.py: cannot be imported (ModuleNotFoundError" in broken.stderr


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
        assert "dev: odd is nan: it is undefined for these predictions" in done.stdout
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


def test_help_is_instant(finetune: Finetune) -> None:
    """In seconds of the processor, which other work on the machine does not lengthen."""
    seconds = []
    for _ in range(5):
        before = os.times()
        assert "evaluate" in finetune("--help").stdout
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(seconds) < 0.3


def test_a_forced_run_that_stops_is_not_done(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1"]
    assert in_process("run", *settings, data=rte)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(
            "finetune.training.run.save_checkpoint", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full"))
        )
        code, _, err = in_process("run", *settings, "--force", data=rte)
    assert code == 2
    assert err.splitlines()[-1] == "error: disk full. Free space, or choose another folder with --out"
    assert not list(tmp_path.glob("results/*/*/record.json"))
    code, _, err = in_process("run", *settings, data=rte)
    assert code == 0
    assert "resuming after update 2 of 2" in err


def test_published_scores_stand_beside_the_same_model_alone() -> None:
    from finetune.analysis.published import anchors

    every = anchors(task="mrpc")
    base = [anchor for anchor in every if anchor.model == "google-bert/bert-base-uncased"]
    assert {anchor.score for anchor in base if anchor.is_of("dev", 408)} == {0.867, 0.8456, 0.8199}
    assert {anchor.score for anchor in base if anchor.is_of("test", 1725)} == set()
    assert {anchor.score for anchor in base if anchor.split == "server"} == {0.889}
    assert not [anchor for anchor in every if anchor.model == "minilm"]
    (squad,) = (a for a in anchors(task="squad-v1") if "Table 2 (BERT-BASE)" in a.source and a.metric == "f1")
    assert squad.is_of("dev", 10_570)
    assert not squad.is_of("dev", 5_000)
    frozen = {"frozen": True, "bilstm": True, "layers": "concat-last-4"}
    assert [anchor.score for anchor in anchors(task="conll-2003", settings=frozen)] == [0.961]
    assert 0.961 not in {anchor.score for anchor in anchors(task="conll-2003")}


def test_options_of_a_task_are_settings(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    """Beside the recipe's own keys, in [options], and in [grid]; at their defaults they do not change a run's id."""
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
    assert (code, "'fold' is 9: input should be 0, 1, 2, 3 or 4" in err) == (2, True)
    code, _, err = in_process("run", "codah", "folds=1", data=data)
    assert (code, "unknown key 'folds'. Did you mean 'fold'" in err) == (2, True)
    code, _, err = in_process("run", "codah", "options.folds=1", data=data)
    assert (code, "the task codah has no option 'folds'. Did you mean 'fold'?" in err) == (2, True)


def test_what_is_piped_is_cut_at_no_terminals_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert standard_output().width == 90
    monkeypatch.delenv("COLUMNS")
    assert standard_output().width == 300
