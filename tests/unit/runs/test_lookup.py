"""Which run a name means; and that a record says where its data was without the folders of the machine above it."""

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune, assert_error
from support.files import write
from support.paths import ROOT
from support.records import change_record
from support.runs import FinishedRun
from support.toys import write_columns

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference import predictor as predictors
from finetune.runs.events import unwatched
from finetune.runs.lookup import find_run, latest_run
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run
from finetune.training.run_options import RunOptions

Train = Callable[..., RunRecord]


def write_reviews(path: Path, *, first: str = "cat", rows: int = 24) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = [(f"the {first if i % 2 else 'dog'} sat {i}", "good" if i % 2 else "bad") for i in range(rows)]
        csv.writer(file).writerows([("text", "label"), *lines])
    return path


@pytest.fixture
def train(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    monkeypatch.chdir(tmp_path)

    def trained(path: str | Path, **settings: Any) -> RunRecord:
        given = {"model": str(tiny_bert), "train.epochs": 1, "max_length": 16, **settings}
        return run(
            resolved_run(starting_recipe(str(path), given)[0]),
            RunOptions(source=Source(), out=Path("results")),
            watch=unwatched,
        )

    return trained


def named(name: str | Path) -> str:
    found = latest_run(str(name), Path("results"))
    assert found is not None
    return found.path.name


def test_a_path_means_the_runs_of_that_very_file(train: Train, here: Finetune, tmp_path: Path) -> None:
    mine, theirs = write_reviews(tmp_path / "a/reviews.csv"), write_reviews(tmp_path / "b/reviews.csv", first="bird")
    first = train("a/reviews.csv")
    for command in (
        ["predict", "b/reviews.csv", "b/reviews.csv"],
        ["evaluate", "b/reviews.csv", "b/reviews.csv"],
        ["show", "b/reviews.csv", "--predictions", "3"],
        ["report", "b/reviews.csv"],
        ["compare", "b/reviews.csv", first.id],
    ):
        done = here(*command)
        assert done.returncode == 2, command
        assert_error(done.stderr, f"{first.id} of a/reviews.csv, {first.finished}", "finetune run b/reviews.csv")
    second = train("b/reviews.csv")
    assert (named("a/reviews.csv"), named(mine), named("b/reviews.csv"), named(theirs)) == (
        *(first.id, first.id),
        *(second.id, second.id),
    )
    mine.unlink()
    theirs.unlink()
    assert named("reviews.csv") == second.id  # of a name that is no path the latest


def test_a_file_is_known_by_its_content_and_else_by_its_path(train: Train, tmp_path: Path) -> None:
    data = write_reviews(tmp_path / "reviews.csv")
    first = train("reviews.csv")
    shutil.copy(data, tmp_path / "elsewhere.csv")
    (tmp_path / "copy").mkdir()
    shutil.copy(data, tmp_path / "copy/reviews.csv")
    assert named("copy/reviews.csv") == first.id
    write_reviews(data, rows=26)
    assert named("reviews.csv") == first.id  # the same file, which has changed
    second = train("reviews.csv")
    assert (named("reviews.csv"), named("copy/reviews.csv")) == (second.id, first.id)
    with pytest.raises(UserError, match=r"other/reviews\.csv"):
        latest_run(str(write_reviews(tmp_path / "other/reviews.csv", rows=40).relative_to(tmp_path)), Path("results"))
    assert find_run(first.id, Path("results")) is not None


def test_the_runs_of_a_folder_are_told_apart_too(train: Train, tmp_path: Path) -> None:
    for place, first in (("a", "cat"), ("b", "bird")):
        for split in ("train", "dev"):
            write_reviews(tmp_path / place / "reviews" / f"{split}.csv", first=first, rows=20 + len(split))
    record = train("a/reviews")
    assert named("a/reviews") == record.id
    with pytest.raises(UserError, match=f"{record.id} of a/reviews/train.csv"):
        latest_run("b/reviews", Path("results"))
    shutil.copytree(tmp_path / "results" / "reviews-data", tmp_path / "results" / "mrpc")
    (tmp_path / "mrpc").mkdir()
    assert named("mrpc") == record.id  # a folder of that name that nothing was trained on does not hide a task


def test_a_record_of_before_is_found_by_its_path(train: Train, tmp_path: Path) -> None:
    write_reviews(tmp_path / "a/reviews.csv")
    write_reviews(tmp_path / "b/reviews.csv")
    record = train("a/reviews.csv")
    file = tmp_path / "results" / "reviews.csv" / record.id / "record.json"
    for origin in ("a/reviews.csv", str(tmp_path / "a/reviews.csv")):
        change_record(file, data_files={}, data_origin={"train": origin, "dev": origin})
        assert named("a/reviews.csv") == record.id
        with pytest.raises(UserError, match="other data of that name"):
            latest_run("b/reviews.csv", Path("results"))


def test_the_latest_of_several_runs_is_named_with_the_others(train: Train, here: Finetune, tmp_path: Path) -> None:
    write_reviews(tmp_path / "reviews.csv")
    records = [train("reviews.csv", seed=seed) for seed in range(3)]
    for record, day in zip(records, (2, 9, 5), strict=True):
        file = tmp_path / "results" / "reviews.csv" / record.id / "record.json"
        change_record(file, finished=f"2026-01-0{day}T00:00:00+00:00")
    done = here("predict", "reviews.csv", "reviews.csv")
    first, second, third = (f"{records[i].id} of 2026-01-0{day}T00:00:00+00:00" for i, day in ((1, 9), (2, 5), (0, 2)))
    assert f"note: reviews.csv: the latest run is used, {first}; others: {second}; {third}\n" in done.stderr


@pytest.mark.slow
def test_a_record_names_no_folder_of_the_machine(train: Train, here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    outside = tmp_path / "data"
    (outside / "wnut17").mkdir(parents=True)
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    write_columns(outside / "wnut17", names, types=("person", "group"))
    for name in names:  # no documents: the reader says so, with the file
        file = outside / "wnut17" / name
        file.write_text(file.read_text().replace("-DOCSTART- O\n\n", ""))
    fast = [f"model={tiny_bert}", "train.epochs=1", "max_length=32", "limit=8"]
    assert here("run", "wnut-17", *fast, "--data", outside).returncode == 0
    assert here("run", "wnut-17", *fast, "seed=1", data=outside).returncode == 0
    write_reviews(tmp_path / "mine" / "reviews.csv")
    assert here("run", tmp_path / "mine" / "reviews.csv", *fast[:3]).returncode == 0
    records = [json.loads(file.read_text()) for file in sorted(tmp_path.glob("results/*/*/record.json"))]
    assert [record["data_origin"]["dev"] for record in records] == [
        "mine/reviews.csv",
        *["wnut17/emerging.dev.conll"] * 2,
    ]
    for record in records:
        assert str(tmp_path) not in json.dumps([record["data_origin"], record["notes"]])
    assert records[1]["notes"][0].startswith("wnut17/wnut17train.conll: does not mark")
    assert "train" in records[0]["data_files"] and records[1]["data_files"] == {}
    scored = here("evaluate", records[0]["id"], tmp_path / "mine" / "reviews.csv")
    assert "was trained on" in scored.stderr
    moved = shutil.copy(tmp_path / "mine" / "reviews.csv", tmp_path / "moved.csv")
    assert "was trained on" in here("evaluate", records[0]["id"], moved).stderr
    changed = write_reviews(tmp_path / "mine" / "reviews.csv", first="bird")
    assert "11 of the" in here("evaluate", records[0]["id"], changed).stderr  # the other texts are new
    assert predictors.load_predictor(records[0]["id"]).layout is not None


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_no_file_of_results_names_a_folder_of_a_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert len(listed) > 80
    absolute = re.compile(r"(?<![\w.:/<-])(/(?!/)[\w.-]+){2,}|\b[A-Za-z]:\\\\")
    assert [name for name in listed if absolute.search((ROOT / name).read_text(encoding="utf-8"))] == []


def test_a_run_on_a_share_of_the_rows_is_never_the_latest(train: Train, tmp_path: Path) -> None:
    write_reviews(tmp_path / "reviews.csv", rows=48)
    whole = train("reviews.csv")
    smaller = train("reviews.csv", train_share=0.5)
    assert named("reviews.csv") == whole.id
    shutil.rmtree(tmp_path / "results" / "reviews.csv" / whole.id)
    assert named("reviews.csv") == smaller.id


@pytest.mark.parametrize("name", ["myrun", "deeper/../myrun", "../{home}/myrun"])
@pytest.mark.parametrize("words", ["show {}", "report {}", "compare {} twin", "explain {} sat", "evaluate {} rows.csv"])
def test_a_folder_of_one_word_or_through_its_parent_is_a_run_like_any(
    words: str, name: str, here: Finetune, finished_run: FinishedRun, tmp_path: Path
) -> None:
    for copy in ("myrun", "twin"):
        shutil.copytree(finished_run("sentence"), tmp_path / copy)
    (tmp_path / "deeper").mkdir()
    write(tmp_path / "rows.csv", "review,mark\n" + "the cat sat,good\nthe dog sat,bad\n" * 5)
    done = here(*words.format(name).format(home=tmp_path.name).split())
    assert done.returncode == 0, done.stderr
