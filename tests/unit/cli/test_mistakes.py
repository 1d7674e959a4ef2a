"""What is typed wrongly is one line that names the value and the way out, with exit code 2.

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
