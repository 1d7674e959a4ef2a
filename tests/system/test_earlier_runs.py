"""Runs that start from encoders of earlier runs, recipes that are run first for it, and runs named by their data."""

from pathlib import Path

import pytest
from support.cli import Finetune
from support.runs import REVIEWS, as_csv

from finetune.api.run import open_run
from finetune.runs.lookup import lineage_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records
from finetune.runs.seeds import groups, summarised

ANIMALS = [(text, f"{label}{'!' if 'sat 1' in text else ''}") for text, label in REVIEWS]
SHORT = ["max_length=16", "train.epochs=1"]


def write(folder: Path, encoder: Path, more: str = "") -> None:
    """Data of two tasks, and the recipe of the first."""
    (folder / "first.csv").write_text(as_csv(("text", "label"), *REVIEWS))
    (folder / "second.csv").write_text(as_csv(("text", "kind"), *ANIMALS))
    settings = f"max_length = 16\n{more}\n[train]\nepochs = 2\nlearning_rate = 2e-3\n"
    (folder / "first.toml").write_text(f'task = "first.csv"\nmodel = "{encoder}"\n{settings}')


def records(folder: Path) -> dict[str, list[RunRecord]]:
    """The records by task, by seed."""
    found: dict[str, list[RunRecord]] = {}
    for record in sorted(all_records(folder / "results"), key=lambda one: int(one.recipe["seed"])):
        found.setdefault(record.task, []).append(record)
    return found


@pytest.mark.slow
def test_each_seed_trains_its_own_first_run_once(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    write(tmp_path, tiny_bert)
    command = ["run", "second.csv", "model=first.toml", "--seeds", "3", *SHORT]
    done = here(*command)
    assert done.returncode == 0, done.stderr
    assert "first.csv, run" not in done.stdout  # scores of what was asked for
    first, second = records(tmp_path).values()
    assert [record.recipe["seed"] for record in first] == [42, 43, 44]
    assert [record.lineage for record in second] == [lineage_of(record) for record in first]
    assert {record.model for record in second} == {"first.toml"}
    assert len({record.weights for record in second}) == 3
    again = here(*command)
    assert (again.returncode, "epoch 1/1" in again.stderr) == (0, False)
    forced = here(*command, "--force")
    assert forced.stderr.count("epoch 1/1  loss") == forced.stderr.count("already done") == 3  # the first runs
    (group,) = groups(second)  # so the interval is that of three trainings of both
    assert open_run(group[0].id, seeds=True, out=tmp_path / "results").scores["runs"].tolist()[0] == 3
    metric = second[0].metric("macro f1")
    assert metric.shown(summarised([record.score for record in second], metric).mean) in done.stdout


FAST = ("train.epochs=3", "train.learning_rate=2e-3", "train.patience=3", "max_length=16", "pooling=family")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("second.csv", ("model=first.csv", "keep_labels=true")),
        ("first.csv", ("distil.teacher=first.csv", "model={model}", "distil.weak=true")),
    ],
)
def test_a_repeated_command_that_names_a_run_by_its_data_means_the_same_run(
    data: str, words: tuple[str, ...], here: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path, tiny_bert)
    (tmp_path / "second.csv").write_text(
        as_csv(("text", "label"), *((f"{text} again", mark) for text, mark in REVIEWS))
    )
    assert here("run", "first.csv", *FAST, f"model={tiny_bert}").returncode == 0
    (old,) = all_records(tmp_path / "results")
    command = ("run", data, *FAST, *(word.format(model=tiny_bert) for word in words))
    began = here(*command)
    assert began.returncode == 0, began.stderr
    done = {record.id for record in all_records(tmp_path / "results")}
    again = here(*command)
    assert again.returncode == 0, again.stderr
    assert {record.id for record in all_records(tmp_path / "results")} == done and len(done) == 2
    typed = [record.observed.typed for record in all_records(tmp_path / "results") if record.observed]
    assert any(words[0].replace("first.csv", old.id) in one for one in typed)
