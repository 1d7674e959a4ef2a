"""What `finetune run` types means what `finetune.run` is called with."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess

import finetune
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.training.run_options import RunOptions


def test_both_front_ends_pass_on_every_option(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[RunOptions] = []

    def stopped(_: Any, options: RunOptions, **__: Any) -> None:
        given.append(options)
        raise UserError("far enough", "Stop")

    monkeypatch.setattr("finetune.training.run_many.run_all", stopped)
    monkeypatch.setattr("finetune.commands.run.tracker_names", lambda names: (names,))
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


def test_an_option_is_no_setting(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("text,label\n" + "good one,a\nbad one,b\n" * 20)
    for word in ("out=runs", "callbacks=x", "data=x"):
        code, _, err = in_process("run", "reviews.csv", word, data="")
        assert (code, word.partition("=")[0] in err) == (2, True), err


def test_rows_in_memory_are_a_target_alone() -> None:
    rows = [{"text": "good one", "label": "a"}]
    for targets, named in (([rows, "glue-rte"], {}), (["glue-rte"], {"data": rows}), ([rows, rows], {})):
        with pytest.raises(UserError, match="alone"):
            finetune.run(*targets, **named)


def test_the_earlier_name_is_named() -> None:
    with pytest.raises(AttributeError, match=r"finetune\.run"):
        _ = finetune.train
