"""`finetune soup`: the mean of weights, saved and scored as a run, and runs that did not start equal."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.cli import Finetune, assert_error
from support.records import change_record
from support.runs import FAST, FinishedRun

import finetune
from finetune.runs.dev_choices import chosen_by_scored
from finetune.runs.record_files import load_record

SETTINGS = [f"{key}={value}" for key, value in FAST.items()]


@pytest.mark.nightly
def test_weights_are_averaged_and_compared(
    here: Finetune, copied_run: FinishedRun, tiny_bert: Path, tmp_path: Path
) -> None:
    first = copied_run("sentence")
    data = load_record(first / "record.json").recipe["task"]
    done = here("run", data, f"model={tiny_bert}", *SETTINGS, "train.epochs=2", "seed=43")
    assert done.returncode == 0, done.stderr
    second = next(run for run in first.parent.iterdir() if run != first and (run / "record.json").is_file())
    (tmp_path / "test.csv").write_text("review,mark\n" + "the cat sat x,good\nthe dog sat y,bad\n" * 20)
    made = here("soup", first, second, "test=test.csv")
    assert made.returncode == 0, made.stderr
    assert (made.stdout + made.stderr).count("the mean weights of the runs") == 1
    (soup,) = (r for r in map(load_record, first.parent.glob("*/record.json")) if "soup" in r.recipe)
    assert [one.name for one in soup.compared] == ["mean of the runs", "soup", "ensemble"]
    assert set(soup.compared[2].scores) == {"dev", "test"}
    assert not any("dev chose the number of epochs" in note for note in soup.notes)
    best = soup.model_copy(update={"recipe": {**soup.recipe, "train": {**soup.recipe["train"], "select": "best"}}})
    last = soup.model_copy(update={"recipe": {**soup.recipe, "train": {**soup.recipe["train"], "select": "last"}}})
    assert (chosen_by_scored(best), chosen_by_scored(last)) == ("the epoch of each run", "")
    ours, *theirs = (load_file(run / "model" / "model.safetensors") for run in (first.parent / soup.id, first, second))
    for name, tensor in ours.items():
        if tensor.is_floating_point():
            torch.testing.assert_close(tensor, (theirs[0][name] + theirs[1][name]) / 2)
    assert here("soup", second, first, "test=test.csv").returncode == 0  # the same, which is there
    assert len(list(first.parent.glob("*/record.json"))) == 3
    shutil.copytree(first.parent / soup.id / "model", tmp_path / "moved")
    predicted = here("predict", "moved", "test.csv", "--coverage", "0.9", "-o", "out.csv")
    assert predicted.returncode == 0, predicted.stderr
    assert here("check", "moved", "test.csv").returncode in (0, 3)
    assert here("report", soup.id, "-o", "soup.html").returncode == 0
    assert "no loss by update" not in (tmp_path / "soup.html").read_text()
    # An ensemble is a teacher, too.
    taught = here("run", data, f"model={tiny_bert}", *SETTINGS, f"distil.teacher={first},{second}", "distil.weak=true")
    assert taught.returncode == 0, taught.stderr
    assert "2 teachers" in taught.stdout


def test_python_gives_the_run_that_the_command_makes(
    here: Finetune, copied_run: FinishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = copied_run("sentence")
    other = first.with_name("0123456789")
    shutil.copytree(first, other)
    change_record(other / "record.json", id="0123456789")
    out = tmp_path / "results"
    test = tmp_path / "test.csv"
    test.write_text("review,mark\n" + "the cat sat x,good\nthe dog sat y,bad\n" * 20)
    capsys.readouterr()
    soup = finetune.soup(finetune.open_run(first), other, test=test, out=out)
    assert capsys.readouterr() == ("", "")
    assert [one.name for one in soup.record.compared] == ["mean of the runs", "soup", "ensemble"]
    assert soup.model("the cat sat").value == finetune.load(first)("the cat sat").value
    again = here("soup", first, other, f"test={test}", "--json")
    assert json.loads(again.stdout)["id"] == soup.id
    assert "--force" not in here("soup", first, other, f"test={test}").stderr
    with pytest.raises(finetune.UserError, match="an average needs several"):
        finetune.soup(soup, out=out)
    test.write_text("review,mark\nthe cat sat x,good\nthe dog sat y,odd\n")
    with pytest.raises(finetune.UserError, match=r"test\.csv has 1 label that the runs did not learn: 'odd'\. Correct"):
        finetune.soup(first, other, test=test, out=out)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"weights": "other"}, "did not start equal: encoder"),
        ({"data": "other"}, "did not start equal: rows"),
        ({"task": "other"}, "did not start equal: task"),
        ({"learned": ["dev"]}, "has learned the rows of dev too"),
    ],
)
def test_runs_that_did_not_start_equal_are_refused(
    here: Finetune, copied_run: FinishedRun, facts: dict[str, str], message: str
) -> None:
    first = copied_run("sentence")
    other = first.with_name("0123456789")
    shutil.copytree(first, other)
    change_record(other / "record.json", id="0123456789", **facts)
    refused = here("soup", first, other)
    assert refused.returncode == 2
    assert_error(refused.stderr, message)


def test_one_run_and_wrong_names_are_refused(here: Finetune, reviews: Path) -> None:
    for arguments, message in (
        ([reviews], "an average needs several"),
        ([reviews, reviews], "an average needs several"),
        ([reviews, "nothing"], "'nothing' names no finished run"),
        ([reviews, "tset=a.csv", "x"], "names no finished run"),
    ):
        assert_error(here("soup", *arguments).stderr, message)
