"""A command that names a run by its data means the same run when it is typed again."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.runs import REVIEWS, as_csv

FAST = ("train.epochs=3", "train.learning_rate=2e-3", "train.patience=3", "max_length=16", "pooling=family")


def runs(folder: Path, task: str) -> dict[str, dict[str, Any]]:
    return {file.parent.name: json.loads(file.read_text()) for file in folder.glob(f"results/{task}/*/record.json")}


def write_data(folder: Path) -> None:
    (folder / "jan.csv").write_text(as_csv(("review", "mark"), *REVIEWS))
    (folder / "feb.csv").write_text(as_csv(("review", "mark"), *((f"{text} again", mark) for text, mark in REVIEWS)))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("feb.csv", ("model=jan.csv", "keep_labels=true")),
        ("jan.csv", ("distil.teacher=jan.csv", "model={model}", "distil.weak=true")),
    ],
)
def test_a_repeated_command_means_the_same_run(
    data: str, words: tuple[str, ...], here: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    write_data(tmp_path)
    trained = here("run", "jan.csv", *FAST, f"model={tiny_bert}")
    assert trained.returncode == 0, trained.stderr
    (old,) = runs(tmp_path, "jan.csv")
    command = ("run", data, *FAST, *(word.format(model=tiny_bert) for word in words))
    began = here(*command)
    assert began.returncode == 0, began.stderr
    assert f"{words[0]} is run {old}" in began.stdout + began.stderr
    done = {**runs(tmp_path, "jan.csv"), **runs(tmp_path, "feb.csv")}
    again = here(*command)
    assert again.returncode == 0, again.stderr
    assert {*runs(tmp_path, "jan.csv"), *runs(tmp_path, "feb.csv")} == {*done}
    assert any(words[0].replace("jan.csv", old) in record["observed"]["typed"] for record in done.values())
