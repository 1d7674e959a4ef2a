"""The real command line: what it prints, what it leaves behind, and one line with exit code 2 for each mistake."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from finetune import cli
from finetune.predictions import read_predictions

Finetune = Callable[..., subprocess.CompletedProcess[str]]
InProcess = Callable[..., tuple[int, str, str]]
OWN_TASK = """
from finetune.heads.sentence import SentenceRow, SentenceTask
from finetune.metrics import accuracy
from finetune.task import Rows

def read(source, split):
    rows = [SentenceRow(id=str(i), text='cat' if i % 2 else 'dog', gold=str(i % 2)) for i in range(32)]
    rows[3] = rows[3]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, labels=('0', '1'), metrics=('accuracy',), scorers={'accuracy': accuracy})
]
"""
RTE = "index\tsentence1\tsentence2\tlabel"


@pytest.fixture
def rte(tmp_path: Path) -> Path:
    """A folder with a small RTE that words give away."""
    for split, count in (("train", 64), ("dev", 24)):
        labels = ("entailment", "not_entailment")
        lines = [f"{i}\tthe {'cat' if i % 2 else 'dog'} sat\ta bird flew\t{labels[i % 2]}" for i in range(count)]
        (tmp_path / "data" / "RTE").mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / "RTE" / f"{split}.tsv").write_text("\n".join([RTE, *lines]) + "\n")
    return tmp_path / "data"


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    """The command line without a new Python, whose imports take seconds: (exit code, standard output, error)."""

    def call(*arguments: str, data: Path) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("FINETUNE_DATA", str(data))
        monkeypatch.setattr(sys, "argv", ["finetune", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def only_run(folder: Path) -> Path:
    (record,) = folder.glob("results/*/*/record.json")
    return record.parent


def test_run_show_evaluate_and_run_again(finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
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
    assert (record["precision"], record["processes"], record["id"]) == ("fp32", 1, folder.name)
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

    again = finetune("run", *settings, data=rte)
    assert again.returncode == 0
    assert "already done" in again.stderr
    assert "library versions are the same" in again.stderr
    assert again.stdout == done.stdout

    shown = finetune("show", folder.name[:6], "--predictions", "3")
    assert shown.returncode == 0
    assert "the dog sat" in shown.stdout
    assert finetune("show", "rte", "--json").stdout == finetune("show", str(folder), "--json").stdout

    scores = finetune("evaluate", folder.name, "rte", "--json", data=rte)
    assert json.loads(scores.stdout) == record["scores"]
    listed = finetune("ls")
    assert folder.name in listed.stdout
    assert "glue-mrpc" in listed.stdout

    (folder / "record.json").write_text("{")
    damaged = finetune("run", *settings, data=rte)
    assert damaged.returncode == 2
    assert "is no readable record" in damaged.stderr
    forced = finetune("run", *settings, "--force", "--quiet", data=rte)
    assert forced.returncode == 0
    assert forced.stdout.startswith(f"rte {folder.name}  dev accuracy")
    assert json.loads((folder / "record.json").read_text())["scores"] == record["scores"]


def test_changed_library_versions_are_said(finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1"]
    finetune("run", *settings, data=rte)
    file = only_run(tmp_path) / "record.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {"versions": record["versions"] | {"torch": "1.0"}}))
    assert "torch 1.0 -> " in finetune("run", *settings, data=rte).stderr


def test_seeds_and_grids_run_each_point_once(finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f'task = "rte"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n[grid]\n"train.learning_rate" = [1e-3, 2e-3]\n'
    )
    done = finetune("run", "mine.toml", "--seeds", "2", "--limit", "16", "--json", data=rte)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len({record["id"] for record in records}) == 4
    assert {(r["recipe"]["seed"], r["recipe"]["train"]["learning_rate"]) for r in records} == {
        *((42, 1e-3), (42, 2e-3), (43, 1e-3), (43, 2e-3))
    }
    assert records[0]["rows"] == {"train": 16, "dev": 16}
    assert done.stderr == ""
    table = finetune("run", "mine.toml", "--seeds", "2", "--limit", "16", data=rte)
    assert table.stderr.count("already done") == 4
    assert "all runs" in table.stdout


def test_of_several_runs_one_that_fails_keeps_none_from_running(finetune: Finetune, rte: Path, tiny_bert: Path) -> None:
    done = finetune("run", "glue-rte", "glue-wnli", f"model={tiny_bert}", "train.epochs=1", "--quiet", data=rte)
    assert done.returncode == 2
    assert done.stdout.startswith("rte ")
    assert done.stderr.startswith("error: glue-wnli: no data")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "glue-mrcp"], "no recipe or file is called 'glue-mrcp'. Did you mean 'glue-mrpc'"),
        (["run", "no-such-*"], "no recipe or file is called 'no-such-*'"),
        (["run", "train.epochs=3"], "no recipe was named"),
        (["run", "glue-rte", "task=rtee"], "unknown task 'rtee'. Did you mean 'rte'"),
        (["run", "glue-rte", "train.epochs=three"], "'train.epochs' is 'three'; it must be a whole number at least 1"),
        (["run", "glue-rte", "epochs=3"], "unknown key 'epochs'. Did you mean 'train.epochs'?"),
        (["run", "glue-rte", "--limit", "0"], "'limit' is 0; it must be a whole number at least 1"),
        (["run", "glue-rte", "--device", "cuda:9"], "device 'cuda:9' is not there. This machine has cpu"),
        (["run", "glue-rte", "train.precision=fp16", "--device", "cpu"], "precision 'fp16' needs a CUDA device"),
        (["run", "glue-rte", "--data", "nowhere"], "nowhere: no such folder"),
        (["run", "glue-rte", "model=./nowhere"], "model folder nowhere does not exist"),
        (["run", "glue-rte", "model=EMPTY"], "lacks config.json, model.safetensors, a tokenizer"),
        (["run", "glue-rte", "model=no/network"], "cannot be had from the Hugging Face Hub"),
        (["run", "glue-rte", "model=TINY", "max_length=129"], "positions for 128 tokens. Set max_length=128"),
        (["run", "glue-rte", "model=TINY", "--out", "FILE/x"], "cannot be written"),
        (["run", "glue-mrpc", "model=TINY"], "no data: looked for MRPC/train.tsv"),
        (["check", "glue-rte", "model=EMPTY"], "lacks config.json"),
        (["evaluate", "TINY", "rte"], "holds no fully trained model"),
        (["evaluate", "TINY", "rte", "--split", "exam"], "rte has no split 'exam'. It has train, dev, test"),
        (["show", "glue-mrcp"], "no recipe or file is called 'glue-mrcp'"),
        (["cp", "glue-mrpc", "FILE"], "is already there"),
        (["run", "my_task.py:mine", "task=1"], "no recipe or file is called"),
        (["run", "glue-rte", "task=my_task.py:mine"], "my_task.py: no such task file"),
    ],
)
def test_mistakes(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    names = {"TINY": str(tiny_bert), "EMPTY": str(tmp_path / "empty"), "FILE": str(tmp_path / "file")}
    for name, path in names.items():
        arguments = [argument.replace(name, path) for argument in arguments]
    if arguments[0] == "run" and not any(argument.startswith("model=") for argument in arguments):
        arguments = [*arguments, f"model={tiny_bert}"]
    code, out, err = in_process(*arguments, data=rte)
    assert code == 2
    assert expected in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "results").exists()


def test_a_mistake_ends_the_real_command_the_same_way(finetune: Finetune) -> None:
    done = finetune("run", "glue-mrcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no recipe or file is called 'glue-mrcp'. Did you mean 'glue-mrpc'")
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_split_is_refused(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    (rte / "RTE" / "dev.tsv").write_text(RTE + "\n")
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", data=rte)
    assert code == 2
    assert "the split 'dev' of rte has no rows" in err


def test_unlabelled_rows_cannot_be_scored(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    (rte / "RTE" / "test.tsv").write_text("index\tsentence1\tsentence2\n0\ta\tb\n")
    code, _, err = in_process("evaluate", str(tiny_bert), "rte", "--split", "test", data=rte)
    assert code == 2
    assert "the rows of test of rte have no gold labels" in err


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
    assert (code, out) == (0, "no gold labels, so no scores\n")
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
    assert found["examples"][0]["tokens"][:4] == ["[CLS]", "the", "dog", "sat"]
    assert "[CLS] the dog sat" in in_process("check", "glue-rte", f"model={tiny_bert}", data=rte)[1]


def test_cp_gives_a_recipe_of_ones_own(finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    assert finetune("cp", "glue-rte").returncode == 0
    text = (tmp_path / "glue-rte.toml").read_text()
    (tmp_path / "glue-rte.toml").write_text(text.replace("epochs = 3", "epochs = 2"))
    shown = finetune("show", "glue-rte.toml", "--json")
    assert json.loads(shown.stdout)["train"]["epochs"] == 2
    resolved = finetune("show", "glue-rte.toml", "seed=3").stdout
    assert "init_seed = 3" in resolved
    assert "weight_decay = 0.01" in resolved


def test_a_run_that_is_killed_goes_on(rte: Path, tiny_bert: Path, tmp_path: Path, finetune: Finetune) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=400", "train.batch_size=8"]
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
    assert len(json.loads((folder / "record.json").read_text())["epochs"]) == 400
    assert not (folder / "checkpoint.pt").exists()


def test_a_task_of_ones_own_in_a_file(finetune: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK)
    (tmp_path / "mine.toml").write_text(f'task = "my_task.py:mine"\nmodel = "{tiny_bert}"\n[train]\nepochs = 1\n')
    done = finetune("run", "mine.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mine ")
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("'cat'", "'bird'"))
    assert "already done" not in finetune("run", "mine.toml").stderr  # the file is part of the id
    wrong = finetune("run", "mine.toml", "task=my_task.py:other")
    assert "my_task.py: has no task 'other'. It has mine" in wrong.stderr
    (tmp_path / "my_task.py").write_text("import nothing_of_that_name\n")
    broken = finetune("run", "mine.toml")
    assert broken.returncode == 2
    assert "my_task.py: cannot be imported (ModuleNotFoundError" in broken.stderr


def test_help_is_instant(finetune: Finetune) -> None:
    """In seconds of the processor, which other work on the machine does not lengthen."""
    seconds = []
    for _ in range(5):
        before = os.times()
        assert "evaluate" in finetune("--help").stdout
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(seconds) < 0.3


def test_a_setting_that_the_grid_also_sets_is_refused(in_process: InProcess, rte: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('task = "rte"\n[grid]\ntrain.epochs = [1, 2]\n')
    code, _, err = in_process("run", "mine.toml", "train.epochs=3", data=rte)
    assert code == 2
    assert "its [grid] also sets train.epochs" in err


def test_a_forced_run_that_stops_is_not_done(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["glue-rte", f"model={tiny_bert}", "train.epochs=1"]
    assert in_process("run", *settings, data=rte)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr("finetune.run.save_checkpoint", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
        code, _, err = in_process("run", *settings, "--force", data=rte)
    assert code == 2
    assert err.splitlines()[-1] == "error: disk full. Free space, or choose another folder with --out"
    assert not list(tmp_path.glob("results/*/*/record.json"))
    code, _, err = in_process("run", *settings, data=rte)
    assert code == 0
    assert "resuming after update 2 of 2" in err


def test_a_record_without_its_model_cannot_be_evaluated(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    in_process("run", "glue-rte", f"model={tiny_bert}", "train.epochs=1", data=rte)
    run = only_run(tmp_path)
    shutil.rmtree(run / "model")
    code, _, err = in_process("evaluate", run.name, "rte", data=rte)
    assert code == 2
    assert "Weights are not kept in git: run it with --force" in err
    (run / "record.json").write_text("{}")
    code, out, err = in_process("ls", data=rte)
    assert code == 0
    assert "is no readable record" in err
    assert "glue-mrpc" in out


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("text='a', gold='2'", "row '3' has the gold '2', which is none of: 0, 1"),
        ("text='a', gold=None", "rows of the split 'train' have no gold"),
        ("text='a', pair='b', gold='1'", "row '3' is pair, unlike the first row"),
    ],
)
def test_wrong_rows_of_a_task_of_ones_own_are_named(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path, row: str, expected: str
) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("= rows[3]", f"= SentenceRow(id='3', {row})"))
    code, _, err = in_process("run", "glue-rte", "task=my_task.py:mine", f"model={tiny_bert}", data=tmp_path)
    assert code == 2
    assert expected in err
    assert len(err.splitlines()) == 1


def test_published_scores_stand_beside_the_same_model_alone() -> None:
    from finetune.published import anchors

    ours = anchors(task="mrpc", model="google-bert/bert-base-uncased", split="dev")
    assert {anchor.score for anchor in ours} == {0.867, 0.8456, 0.8199}
    assert anchors(task="mrpc", model="minilm", split="dev") == []
    assert anchors(task="mrpc", model="google-bert/bert-base-uncased", split="test") == []
