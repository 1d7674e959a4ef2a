"""A user's mistakes: one line that says what, where and the way out, exit code 2, and nothing half-written."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import Finetune, InProcess, assert_error
from support.runs import FinishedRun
from support.toys import OWN_TASK
from support.training import CPU

from finetune.models.building import build_model
from finetune.models.model_folder import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types.registry import find


@pytest.fixture(scope="session")
def trained(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with a head for RTE."""
    folder = tmp_path_factory.mktemp("trained")
    model, _ = build_model(tiny_bert, find("rte").head, Recipe(task="any", seed=0), device=CPU)
    save_checkpoint(model, folder, load_tokenizer(tiny_bert), {"task": "rte"})
    return folder


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "glue-mrcp"], "'glue-mrcp'. Did you mean 'glue-mrpc'"),
        (["run", "no-such-*"], "'no-such-*'"),
        (["run", "train.epochs=3"], "no recipe was named"),
        (["run", "glue-rte", "task=rtee"], "Did you mean 'rte'"),
        (["run", "glue-rte", "train.epochs=three"], "'train.epochs' is 'three'"),
        (["run", "glue-rte", "epochs=3"], "Did you mean 'train.epochs'"),
        (["run", "glue-rte", "--limit", "0"], "'limit' is 0"),
        (["run", "glue-rte", "--device", "cuda:9"], "'cuda:9'"),
        (["run", "glue-rte", "train.precision=fp16", "--device", "cpu"], "'fp16'"),
        (["run", "glue-rte", "--data", "nowhere"], "nowhere: no such folder"),
        (["run", "glue-rte", "model=./nowhere"], "nowhere"),
        (["run", "glue-rte", "model=EMPTY"], "config.json, model.safetensors"),
        (["run", "glue-rte", "model=no/network"], "no/network"),
        (["run", "glue-rte", "model=TINY", "max_length=129"], "max_length=128"),
        (["run", "glue-rte", "model=TINY", "--out", "FILE/x"], "cannot be written"),
        (["run", "glue-mrpc", "model=TINY"], "MRPC/train.tsv"),
        (["check", "glue-rte", "model=EMPTY"], "lacks config.json"),
        (["evaluate", "TINY", "rte"], "fully trained model"),
        (["evaluate", "TRAINED", "rte", "--split", "exam"], "'exam'. It has train, dev, test"),
        (["predict", "glue-rte", "FILE"], "is empty"),
        (["show", "glue-mrcp"], "'glue-mrcp'"),
        (["run", "my_task.py:mine"], "my_task.py"),
        (["run", "glue-rte", "task=my_task.py:mine"], "my_task.py"),
    ],
)
def test_mistakes(
    in_process: InProcess,
    rte: Path,
    tiny_bert: Path,
    trained: Path,
    tmp_path: Path,
    arguments: list[str],
    expected: str,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    names = {
        "TINY": str(tiny_bert),
        "TRAINED": str(trained),
        "EMPTY": str(tmp_path / "empty"),
        "FILE": str(tmp_path / "file"),
    }
    for name, path in names.items():
        arguments = [argument.replace(name, path) for argument in arguments]
    if arguments[0] == "run" and not any(argument.startswith("model=") for argument in arguments):
        arguments = [*arguments, f"model={tiny_bert}"]
    code, out, err = in_process(*arguments, data=rte)
    assert code == 2
    assert_error(err, expected)
    assert out == ""
    assert not (tmp_path / "results").exists()


def test_a_mistake_ends_the_real_command_the_same_way(finetune: Finetune) -> None:
    done = finetune("run", "glue-mrcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert_error(done.stderr, "'glue-mrcp'. Did you mean 'glue-mrpc'")


def test_an_empty_split_is_refused(in_process: InProcess, rte: Path, tiny_bert: Path) -> None:
    (rte / "RTE" / "dev.tsv").write_text("index\tsentence1\tsentence2\tlabel\n")
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", data=rte)
    assert code == 2
    assert "'dev' of rte" in err


def test_unlabelled_rows_cannot_be_scored(in_process: InProcess, rte: Path, trained: Path) -> None:
    (rte / "RTE" / "test.tsv").write_text("index\tsentence1\tsentence2\n0\ta\tb\n")
    code, _, err = in_process("evaluate", str(trained), "rte", "--split", "test", data=rte)
    assert code == 2
    assert "test of rte" in err


def test_a_setting_that_the_grid_also_sets_is_refused(in_process: InProcess, rte: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('task = "rte"\n[grid]\ntrain.epochs = [1, 2]\n')
    code, _, err = in_process("run", "mine.toml", "train.epochs=3", data=rte)
    assert code == 2
    assert "train.epochs" in err
    for grid in ("options.fold = [1, 2]", "fold = [1, 2]", "variant = [{ fold = 1 }, { options.fold = 2 }]"):
        (tmp_path / "mine.toml").write_text(f'task = "codah"\n[grid]\n{grid}\n')
        for setting in ("fold=1", "options.fold=1"):
            code, _, err = in_process("run", "mine.toml", setting, data=rte)
            assert (code, "options.fold" in err) == (2, True), err


def test_a_grid_that_sets_the_same_twice_is_refused(in_process: InProcess, rte: Path, tmp_path: Path) -> None:
    for grid in ("options.fold = [1, 2]\nfold = [1, 2]", "variant = [{ fold = 1 }]\noptions.fold = [2]"):
        (tmp_path / "mine.toml").write_text(f'task = "codah"\n[grid]\n{grid}\n')
        code, _, err = in_process("run", "mine.toml", data=rte)
        assert (code, "options.fold" in err) == (2, True), err
    (tmp_path / "mine.toml").write_text('task = "rte"\n[grid]\nvariant = [{ seed = 1 }]\n')
    code, _, err = in_process("run", "mine.toml", "--seeds", "2", data=rte)
    assert (code, "exclude each other" in err) == (2, True), err


def test_a_record_without_its_model_cannot_be_evaluated(
    in_process: InProcess, rte: Path, copied_run: FinishedRun
) -> None:
    run = copied_run("rte")
    shutil.rmtree(run / "model")
    code, _, err = in_process("evaluate", run.name, "rte", data=rte)
    assert code == 2
    assert "--force" in err
    (run / "record.json").write_text("{}")
    code, out, err = in_process("ls", data=rte)
    assert code == 0
    assert "record.json" in err
    assert "glue-mrpc" in out


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("text='a', gold='2'", "row '3'"),
        ("text='a', gold=None", "'train'"),
        ("text='a', pair='b', gold='1'", "row '3'"),
    ],
)
def test_wrong_rows_of_a_task_of_ones_own_are_named(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path, row: str, expected: str
) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("= rows[3]", f"= SentenceRow(id='3', {row})"))
    code, _, err = in_process("run", "glue-rte", "task=my_task.py:mine", f"model={tiny_bert}", data=tmp_path)
    assert code == 2
    assert_error(err, expected)


def test_memory_that_ran_out_is_one_line(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("finetune.commands.ls.finished_runs", full)
    code, _, err = in_process("ls", data=tmp_path)
    assert code == 2
    assert_error(err, "the memory ran out")


def test_python_without_docstrings_is_refused_in_one_line() -> None:
    """Without them transformers cannot be imported."""
    done = subprocess.run([sys.executable, "-OO", "-m", "finetune", "ls"], capture_output=True, text=True)
    assert done.returncode == 2
    assert_error(done.stderr, "-OO")
