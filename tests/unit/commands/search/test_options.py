"""`finetune search` and `finetune.search` have the same options, and mean the same by them."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess

import finetune
from finetune.commands.search.command import search_command
from finetune.errors import UserError

NAMES = {"targets": "data", "data": "data_folder"}  # as they are in Python
TYPED = {"output", "force", "quiet", "as_json"}  # what is written and printed
IN_MEMORY = {"space", "text", "label", "model", "progress", "callbacks", "settings"}


def test_both_front_ends_have_the_same_options() -> None:
    typed = set(inspect.signature(search_command).parameters) - TYPED
    assert {NAMES.get(name, name) for name in typed} == set(inspect.signature(finetune.search).parameters) - IN_MEMORY


def test_both_front_ends_pass_on_every_option(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[tuple[Any, dict[str, Any]]] = []

    def stopped(_: Any, options: Any, *, watch: Any, **others: Any) -> None:
        given.append((options, others))
        raise UserError("far enough", "Stop")

    monkeypatch.setattr("finetune.commands.search.study.execute_search", stopped)
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("text,label\n" + "good one,a\nbad one,b\n" * 20)
    Path("sets").mkdir()
    chosen: dict[str, Any] = {"trials": 4, "seeds": 2, "test_share": 0.1, "out": "runs", "device": "cpu"}
    typed = [f"--{name.replace('_', '-')}={value}" for name, value in chosen.items()]
    in_process("search", "reviews.csv", "--data", "sets", *typed, data="")
    with pytest.raises(UserError, match="far enough"):
        finetune.search("reviews.csv", data_folder="sets", **chosen)
    (one, other) = given
    assert one == other
    options, others = one
    assert (options.out, options.source.folder, options.device) == (Path("runs"), Path("sets"), "cpu")
    assert {name: others[name] for name in chosen.keys() & others.keys()} == {
        name: chosen[name] for name in ("trials", "seeds", "test_share")
    }
