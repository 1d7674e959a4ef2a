"""What is typed wrongly is one line that names the value and the way out, with exit code 2; and the help.

`tests/golden/commands.toml` has a hundred more.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import Finetune, InProcess, assert_error
from support.records import change_record
from support.runs import FinishedRun
from support.toys import OWN_TASK

from finetune.commands import COMMANDS, GROUPS

URL = "https://a.b/x.csv?raw=1"


def test_finetune_alone_lists_every_command_by_group(here: Finetune) -> None:
    alone = here()
    assert (alone.returncode, alone.stderr, alone.stdout) == (0, "", here("--help").stdout)
    lines = [line.strip() for line in alone.stdout.splitlines()]
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == ["Train", "Use", "Data", "Look"]
    listed = [line.partition(" ")[::2] for line in lines]
    assert [name for name, does in listed if name in COMMANDS and does.strip() == COMMANDS[name].help] == [*COMMANDS]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu", "reviews.csv"], ["'rnu'", "'run'"]),
        (["reviews.csv"], ["'reviews.csv' is a file", "finetune run reviews.csv"]),
        (["run", URL], ["is a URL", f"`curl -L -o x.csv '{URL}'`"]),
        (["run", "reviews.csv", "--sead", "3"], ["'--sead'", "'--seed'", "`finetune run --help`"]),
        (["run", "reviews.csv", "--epochs", "2"], ["'--epochs'", "train.epochs=VALUE?"]),
        (["run", "x", "--seeds", "many"], ["--seeds", "many"]),
        (["ls", "x", "y"], ["y", "`finetune ls --help`"]),
        (["tokenizer", "corpus.txt"], ["'-o' / '--output'"]),
        (["run", "train.epochs=3"], ["no recipe"]),
        (["run", "glue-rte", "model=empty"], ["config.json, model.safetensors"]),
        (["run", "reviews.csv", "out=runs"], ["out"]),
        (["run", "variants.toml", "fold=1"], ["options.fold"]),
        (["predict", "nothing", "reviews.csv"], ["'nothing'", "the Hub cannot be reached"]),
    ],
)
def test_a_mistake_is_one_line_with_what_was_meant(
    here: Finetune, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "reviews.csv").write_text("text,label\n" + "good one,a\nbad one,b\n" * 20)
    (tmp_path / "empty").mkdir()
    (tmp_path / "variants.toml").write_text('task = "codah"\n[grid]\nvariant = [{ fold = 1 }, { options.fold = 2 }]\n')
    done = here(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_error(done.stderr.splitlines()[-1], *words)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["show {}", "predict {} new.csv", "features {} new.csv"])
def test_an_unknown_run_is_answered_with_near_ids_and_files(
    here: Finetune, copied_run: FinishedRun, tmp_path: Path, command: str
) -> None:
    run = copied_run("sentence").name
    for name in ("films.csv", "new.csv"):
        (tmp_path / name).write_text("text,label\na,b\n")
    for typed, meant in (("film.csv", "'films.csv'"), (f"{run[:-2]}xx", f"'{run}'")):
        done = here(*command.format(typed, typed).split())
        assert done.returncode == 2
        assert_error(done.stderr, f"Did you mean {meant}")


def test_of_several_runs_of_a_name_the_one_that_is_used_is_named(
    here: Finetune, copied_run: FinishedRun, tmp_path: Path
) -> None:
    run = copied_run("sentence")
    assert run.name not in here("report", "reviews.csv").stderr
    other = shutil.copytree(run, run.with_name("0" * 10))
    change_record(other / "record.json", id=other.name, finished="2020-01-01T00:00:00+00:00")
    assert run.name in here("report", "reviews.csv").stderr
    assert "latest run" not in here("report", run.name).stderr


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("text='a', gold='2'", "row '3'"),
        ("text='a', gold=None", "'train'"),
    ],
)
def test_wrong_rows_of_a_task_of_ones_own_are_named(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path, row: str, named: str
) -> None:
    (tmp_path / "my_task.py").write_text(OWN_TASK.replace("= rows[3]", f"= SentenceRow(id='3', {row})"))
    code, _, err = in_process("run", "glue-rte", "task=my_task.py:mine", f"model={tiny_bert}", data=tmp_path)
    assert code == 2
    assert_error(err, named)


def test_splits_without_rows_or_labels_are_named(
    in_process: InProcess, rte: Path, tiny_bert: Path, copied_run: FinishedRun
) -> None:
    (rte / "RTE" / "test.tsv").write_text("index\tsentence1\tsentence2\n0\ta\tb\n")
    (rte / "RTE" / "dev.tsv").write_text("index\tsentence1\tsentence2\tlabel\n")
    evaluated = ["evaluate", copied_run("rte").name, "rte", "--split", "test"]
    for typed, named in ((evaluated, "test of rte"), (["run", "glue-rte", f"model={tiny_bert}"], "'dev' of rte")):
        code, _, err = in_process(*typed, data=rte)
        assert code == 2
        assert_error(err.splitlines()[-1], named)


def test_a_mistake_ends_the_real_command_the_same_way(finetune: Finetune) -> None:
    done = finetune("run", "glue-mrcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert_error(done.stderr, "'glue-mrcp'", "'glue-mrpc'")
    optimized = subprocess.run([sys.executable, "-OO", "-m", "finetune", "ls"], capture_output=True, text=True)
    assert optimized.returncode == 2  # transformers cannot be imported without docstrings
    assert_error(optimized.stderr, "-OO")
