"""What `finetune search` types reaches the search, and the best recipe is written where it was asked for."""

from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess

import finetune
from finetune.errors import UserError


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
    in_process("search", "reviews.csv", "lora", "--data", "sets", *typed, data="")
    for targets, space in ((["reviews.csv", "lora"], None), (["reviews.csv"], "lora")):
        with pytest.raises(UserError, match="far enough"):
            finetune.search(*targets, space=space, data_folder="sets", **chosen)
    first, *same = given
    assert same == [first, first]
    options, others = first
    assert (options.out, options.source.folder, options.device) == (Path("runs"), Path("sets"), "cpu")
    assert others == {name: chosen[name] for name in ("trials", "seeds", "test_share")}


def test_a_recipe_and_one_space_are_searched() -> None:
    for targets, space in (([], None), (["a", "b", "c"], None), (["a", "b"], "lora")):
        with pytest.raises(UserError, match="takes a recipe and a space"):
            finetune.search(*targets, space=space)
