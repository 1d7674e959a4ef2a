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

from finetune.cli.options import set_options, with_options
from finetune.commands import COMMANDS, GROUPS
from finetune.runs.recipe import setting_fields
from finetune.task_types.columns import OPTIONS

URL = "https://a.b/x.csv?raw=1"


def test_finetune_alone_lists_every_command_by_group(here: Finetune) -> None:
    alone = here()
    assert (alone.returncode, alone.stderr, alone.stdout) == (0, "", here("--help").stdout)
    lines = [line.strip() for line in alone.stdout.splitlines()]
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == ["Train", "Use", "Data", "Look"]
    listed = [line.partition(" ")[::2] for line in lines]
    assert [name for name, does in listed if name in COMMANDS and does.strip() == COMMANDS[name].help] == [*COMMANDS]


def test_the_other_project_with_a_package_of_this_name_is_an_error(
    here: Finetune, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "site" / "finetune-0.10.3.dist-info"
    other.mkdir(parents=True)
    monkeypatch.syspath_prepend(other.parent)
    done = here("ls")
    assert done.returncode == 2
    assert_error(done.stderr, str(other), "pip uninstall finetune", "--force-reinstall", "bert-finetune")
    other.rename(other.with_name("finetune_other-0.1.dist-info"))
    assert here("ls").returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_ends_with_examples(here: Finetune, command: str) -> None:
    shown = here(command, "--help").stdout
    assert shown.partition("Examples:\n")[2].strip().splitlines()[0].startswith(f"finetune {command}")
    assert max(map(len, shown.splitlines())) <= 80


def test_the_help_of_run_has_the_settings_that_everyone_needs_first(here: Finetune) -> None:
    settings, _, options = here("run", "--help").stdout.partition("\nArguments:\n")
    names = [line.split("=")[0].strip() for line in settings.partition("Settings")[2].splitlines()[1:] if "=" in line]
    assert names[:3] == ["label", "text", "model"] and {*names} <= {*OPTIONS, *setting_fields()}
    assert options.index("--seeds") < options.index("--out") < options.index("--no-wait")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu", "reviews.csv"], ["'rnu'", "'run'"]),
        (["fit", "reviews.csv"], ["'fit'", "'run'"]),
        (["reviews.csv"], ["'reviews.csv' is a file", "finetune run reviews.csv"]),
        (["run", URL], ["is a URL", f"`curl -L -o x.csv '{URL}'`"]),
        (["run", "reviews.csv", f"dev={URL}"], ["is a URL", "`curl -L -o x.csv"]),
        (["check", "hf://datasets/a/b.csv"], ["hf://datasets/a/b.csv", "Download"]),
        (["predict", "RUN", URL], ["is a URL"]),
        (["--verison"], ["'--verison'", "'--version'"]),
        (["run", "reviews.csv", "--sead", "3"], ["'--sead'", "'--seed'", "`finetune run --help`"]),
        (["run", "reviews.csv", "--epochs", "2"], ["'--epochs'", "train.epochs=VALUE?"]),
        (["check", "reviews.csv", "--label", "stars"], ["'--label'", "label=VALUE?"]),
        (["show", "reviews.csv", "--row", "3"], ["'--row'", "`finetune show --help`"]),
        (["run", "x", "--seeds", "many"], ["--seeds", "many"]),
        (["ls", "x", "y"], ["y", "`finetune ls --help`"]),
        (["table", "glue", "--form", "papre"], ["--form", "paper"]),
        (["tokenizer", "corpus.txt"], ["'-o' / '--output'"]),
        (["run", "train.epochs=3"], ["no recipe"]),
        (["run", "glue-rte", "model=empty"], ["config.json, model.safetensors"]),
        (["run", "glue-rte", "model=no/network"], ["no/network"]),
        (["run", "reviews.csv", "out=runs"], ["out"]),
        (["run", "reviews.csv", "callbacks=x"], ["callbacks"]),
        (["table", "squad", "--out", "nowhere", "--form", "paper"], ["`--form`"]),
        (["run", "grid.toml"], ["options.fold"]),
        (["run", "grid.toml", "options.fold=1"], ["options.fold"]),
        (["run", "variants.toml", "fold=1"], ["options.fold"]),
        (["run", "seeds.toml", "--seeds", "2"], ["exclude each other"]),
        (["predict", "nothing", "reviews.csv"], ["'nothing'", "the Hub cannot be reached"]),
        (["run", "reviews.csv", "model=nothing"], ["the Hub cannot be reached"]),
    ],
)
def test_a_mistake_is_one_line_with_what_was_meant(
    here: Finetune, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "reviews.csv").write_text("text,label\n" + "good one,a\nbad one,b\n" * 20)
    (tmp_path / "empty").mkdir()
    for name, grid in {
        "grid": 'task = "codah"\n[grid]\noptions.fold = [1, 2]\nfold = [1, 2]',
        "variants": 'task = "codah"\n[grid]\nvariant = [{ fold = 1 }, { options.fold = 2 }]',
        "seeds": 'task = "rte"\n[grid]\nvariant = [{ seed = 1 }]',
    }.items():
        (tmp_path / f"{name}.toml").write_text(f"{grid}\n")
    done = here(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_error(done.stderr.splitlines()[-1], *words)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "command", ["show {}", "predict {} new.csv", "report {}", "compare {} {}", "features {} new.csv"]
)
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
        ("text='a', pair='b', gold='1'", "row '3'"),
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


def test_memory_that_ran_out_is_one_line(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("finetune.commands.ls.finished_runs", full)
    code, _, err = in_process("ls", data=tmp_path)
    assert code == 2
    assert_error(err, "memory")


def test_a_mistake_ends_the_real_command_the_same_way(finetune: Finetune) -> None:
    done = finetune("run", "glue-mrcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert_error(done.stderr, "'glue-mrcp'", "'glue-mrpc'")
    optimized = subprocess.run([sys.executable, "-OO", "-m", "finetune", "ls"], capture_output=True, text=True)
    assert optimized.returncode == 2  # transformers cannot be imported without docstrings
    assert_error(optimized.stderr, "-OO")


def test_an_argument_of_the_called_command_is_printed_as_an_option() -> None:
    set_options(["--force", "--data-sizes", "-o"])
    text = "run it with `force` and `data_sizes` in `data_folder`, not with `seed` or `o`"
    assert with_options(text) == "run it with `--force` and `--data-sizes` in `--data`, not with `seed` or `o`"
