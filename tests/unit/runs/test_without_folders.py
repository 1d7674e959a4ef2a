"""What a run on the user's data writes names no folder of the machine and no machine; the same command resumes it."""

import platform
import re
import shutil
from pathlib import Path

import pytest
from support.checked_files import reviews
from support.cli import Finetune
from support.training import StopsAfter

from finetune.data.paths import from_here
from finetune.data.source import Source
from finetune.runs.events import unwatched
from finetune.runs.process import Interrupted
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run
from finetune.training.run_options import RunOptions


@pytest.mark.slow
@pytest.mark.parametrize("outside", [False, True])
def test_a_run_names_no_folder_of_the_machine_and_is_resumed(
    outside: bool, here: Finetune, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project" if outside else tmp_path
    project.mkdir(exist_ok=True)
    monkeypatch.chdir(project)
    data, test = reviews(tmp_path / "mine" / "a.csv"), reviews(tmp_path / "mine" / "test.csv", 20)
    model = shutil.copytree(tiny_bert, tmp_path / "encoder")
    settings = {"model": str(model), "test": str(test), "train.epochs": 2, "max_length": 16}
    options = RunOptions(source=Source(), out=tmp_path / "results")
    begun = resolved_run(starting_recipe(str(data), settings)[0])
    with pytest.raises(Interrupted):
        run(begun, options, watch=StopsAfter(1))
    record = run(begun, options, watch=unwatched)
    folder = options.out / "a.csv" / record.id
    assert folder.joinpath("events.jsonl").read_text().count('"event": "start"') == 2
    written = {file.name: file.read_text() for file in folder.rglob("*") if file.suffix in (".json", ".jsonl", ".toml")}
    assert {"record.json", "recipe.toml", "events.jsonl", "config.json"} <= set(written)
    for name in (str(tmp_path), platform.node()):
        assert not [file for file, text in written.items() if re.search(rf"{re.escape(name)}\b", text)], name
    assert (record.recipe["task"], record.model) == (from_here(str(data)), from_here(str(model)))
    if not outside:  # `here` is in the same folder
        again = here("run", data, *(f"{key}={value}" for key, value in settings.items()), "--out", options.out)
        assert "already done" in again.stderr
        assert "already done" in here("run", folder / "recipe.toml").stderr


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("{here}/a.csv", "./a.csv"),
        ("{here}/mrpc", "./mrpc"),  # never the task of that name
        ("{above}/data/a.csv", "../data/a.csv"),
        ("{above}/x/../a.csv", "{above}/x/../a.csv"),  # x may be a link
        ("/elsewhere-on-this-machine/a.csv", "/elsewhere-on-this-machine/a.csv"),
        ("a.csv", "a.csv"),
        ("google-bert/bert-base-uncased", "google-bert/bert-base-uncased"),
        ("", ""),
    ],
)
def test_paths_from_here(path: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"here": tmp_path, "above": tmp_path.parent}
    assert from_here(path.format(**names)) == expected.format(**names)
