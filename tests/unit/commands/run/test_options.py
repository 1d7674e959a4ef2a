"""`finetune run` and `finetune.run` have the same options, and mean the same by them."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess

import finetune
from finetune.commands.run.command import run_command
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.training.run_options import RunOptions

NAMES = {"targets": "data", "sizes": "data_sizes", "data": "data_folder", "no_wait": "wait"}  # as they are in Python
TYPED = {"quiet", "as_json", "rows"}  # what is printed; and how several names become `old.csv,new.csv`
IN_MEMORY = {"text", "label", "model", "name", "progress", "callbacks", "settings"}


def test_both_front_ends_have_the_same_options() -> None:
    typed = (
        set(inspect.signature(run_command).parameters) - Recipe.model_fields.keys() - TYPED
    )  # `limit`, `seed` are settings
    assert {NAMES.get(name, name) for name in typed} == set(inspect.signature(finetune.run).parameters) - IN_MEMORY


def test_both_front_ends_pass_on_every_option(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[RunOptions] = []

    def stopped(_: Any, options: RunOptions, **__: Any) -> None:
        given.append(options)
        raise UserError("far enough", "Stop")

    monkeypatch.setattr("finetune.training.run_many.run_all", stopped)
    for front_end in ("finetune.commands.run.command", "finetune.commands.run.api"):
        monkeypatch.setattr(f"{front_end}.tracker_names", lambda names: (names,))
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("text,label\n" + "good one,a\nbad one,b\n" * 20)
    Path("sets").mkdir()
    typed = "run reviews.csv --out runs --data sets --device cpu --force --no-wait --track some"
    in_process(*typed.split(), "--checkpoint-minutes=7", "--checkpoint-updates=9", data="")
    with pytest.raises(UserError, match="far enough"):
        finetune.run(
            "reviews.csv", out="runs", data_folder="sets", device="cpu", force=True, wait=False, track="some",
            checkpoint_minutes=7, checkpoint_updates=9,
        )  # fmt: skip
    one, other = given
    assert one == other
    usual = RunOptions(source=source_of(None), out=Path("results"))
    assert [field.name for field in fields(one) if getattr(one, field.name) == getattr(usual, field.name)] == []
