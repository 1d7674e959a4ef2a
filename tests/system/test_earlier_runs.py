"""Runs that start from encoders of earlier runs, recipes that are run first for it, and runs named by their data."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support.cli import Finetune, assert_error
from support.runs import REVIEWS, as_csv, trained_run

from finetune.api.run import open_run
from finetune.data.paths import from_here
from finetune.models.model_folder import load_encoder
from finetune.models.tokenizers.load import load_tokenizer
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


@pytest.mark.nightly
def test_one_earlier_run_is_shared_by_all_seeds_and_compared_with_seeds_of_its_own(
    here: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path, tiny_bert)
    assert here("run", "first.toml", "--quiet").returncode == 0
    (run,) = tmp_path.glob("results/first.csv/*")
    assert here("run", "second.csv", f"model={run.name[:6]}", "--seeds", "2", *SHORT).returncode == 0
    shared = records(tmp_path)["second.csv"]
    assert {record.model for record in shared} == {f"results/first.csv/{run.name}"}
    same = here("run", "second.csv", f"model={run / 'model'}", *SHORT)
    assert "already done" in same.stderr  # equal weights, equal ids
    here("run", "second.csv", f"model={tiny_bert}", "--seeds", "2", *SHORT)
    (plain, *_) = [record for record in records(tmp_path)["second.csv"] if record.lineage is None]
    assert len(groups(records(tmp_path)["second.csv"])) == 2
    compared = here("compare", plain.id, shared[0].id, "--seeds")
    assert f"{from_here(str(tiny_bert))}, trained on first.csv (run {run.name}" in " ".join(compared.stdout.split())
    for command in (["show", shared[0].id], ["ls"]):
        assert run.name in here(*command).stdout
    assert here("run", f"results/second.csv/{shared[0].id}/recipe.toml").stderr.count("already done") == 1


@pytest.mark.nightly
def test_a_grid_compares_with_and_without_and_a_longer_lineage_stays_apart(
    here: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path, tiny_bert)
    (tmp_path / "second.toml").write_text('task = "second.csv"\nmodel = "first.toml"\nmax_length = 16\n')
    grid = f'[grid]\nmodel = ["{tiny_bert}", "first.toml", "second.toml"]\n'
    (tmp_path / "grid.toml").write_text(f'task = "second.csv"\nmax_length = 16\n{grid}[train]\nepochs = 1\n')
    done = here("run", "grid.toml", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    found = [one for one in records(tmp_path)["second.csv"] if one.recipe["train"]["epochs"] == 1]
    longest = max((one.lineage for one in found if one.lineage), key=lambda lineage: len(lineage.words))
    assert longest.words.count("trained on first.csv") == longest.words.count("then on second.csv") == 1
    assert longest.checkpoint == from_here(str(tiny_bert))
    assert [len(group) for group in groups(found)] == [2, 2, 2]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Those of an encoder, but for the pooler, which is not saved where no head reads it."""
    state = load_encoder(folder)[0].state_dict()
    return {name: tensor for name, tensor in state.items() if not name.startswith("pooler")}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lora": 4},
        {"frozen": True},
        {"layers": [1], "bilstm": True},
        {"frozen": True, "layers": "weighted-sum-all"},
    ],
    ids=str,
)
def test_the_encoder_is_taken_without_the_head(settings: dict[str, Any], tiny_bert: Path, tmp_path: Path) -> None:
    """A frozen run that starts from it has its weights still; LoRA is merged, and mixes of layers are left out."""
    write(tmp_path, tiny_bert)
    first = trained_run(tmp_path / "results", tmp_path / "first.csv", tiny_bert, **{"train.epochs": 1} | settings)
    reading = {"train.epochs": 1, "layers": [2], "frozen": True}
    second = trained_run(tmp_path / "results", tmp_path / "second.csv", first, **reading)
    before, theirs, ours = (weights(folder) for folder in (tiny_bert, first / "model", second / "model"))
    assert ours.keys() == theirs.keys() == before.keys()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    changed = any(not torch.equal(tensor, theirs[name]) for name, tensor in before.items())
    assert changed != settings.get("frozen", False)
    texts = ["The CAT sat", "a dog, one"]
    assert load_tokenizer(second / "model")(texts)["input_ids"] == load_tokenizer(first / "model")(texts)["input_ids"]
    config = json.loads((second / "model" / "config.json").read_text())
    assert set(config["id2label"].values()) == {label for _, label in ANIMALS}
    assert json.loads((second / "record.json").read_text())["lineage"]["run"] == first.name


def test_a_first_run_that_fails_is_one_line(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    write(tmp_path, tiny_bert, "freeze_layers = 9")
    for seeds in ([], ["--seeds", "2"]):  # the same for each seed
        done = here("run", "second.csv", "model=first.toml", *seeds, *SHORT)
        assert done.returncode == 2
        assert_error(done.stderr, "first.toml", "freeze_layers")
    assert not list(tmp_path.glob("results/*/*/record.json"))
    write(tmp_path, tiny_bert)
    here("run", "first.toml", "--quiet")
    shutil.rmtree(next(tmp_path.glob("results/first.csv/*/model")))
    assert_error(here("run", "second.csv", "model=first.toml", *SHORT).stderr, "its model is missing", "--force")


def test_check_shows_the_first_run_and_trains_nothing(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    write(tmp_path, tiny_bert)
    (tmp_path / "main.toml").write_text('task = "second.csv"\nmodel = "first.toml"\n')
    done = here("check", "main.toml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("first.csv") < done.stdout.index("second.csv")
    assert_error(here("search", "main.toml").stderr, "first.toml")
    assert not (tmp_path / "results").exists()


FAST = ("train.epochs=3", "train.learning_rate=2e-3", "train.patience=3", "max_length=16", "pooling=family")


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
