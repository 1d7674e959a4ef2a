"""Recipes on the command line: printed, shown and changed."""

import csv
import json
import tomllib
from pathlib import Path

from support.cli import Finetune, InProcess

from finetune.runs.toml import RECIPES

REVIEWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(80)]


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_init_prints_a_shipped_recipe_to_change(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    text = here("init", "glue-rte").stdout
    assert text == (RECIPES / "glue-rte.toml").read_text()
    assert here("init", "glue-rte", "seed=3").returncode == 2
    (tmp_path / "glue-rte.toml").write_text(text.replace("epochs = 3", "epochs = 2"))
    shown = here("show", "glue-rte.toml", "--json")
    assert json.loads(shown.stdout)["train"]["epochs"] == 2
    resolved = here("show", "glue-rte.toml", "seed=3").stdout
    assert "init_seed = 3" in resolved
    assert "weight_decay = 0.01" in resolved


def test_a_recipe_for_a_text_is_shown_with_one_length_and_no_warning(in_process: InProcess, tmp_path: Path) -> None:
    for as_json in ([], ["--json"]):
        code, out, err = in_process("show", "pretrain", *as_json, data=tmp_path)
        assert (code, err) == (0, "")
        shown = json.loads(out) if as_json else tomllib.loads(out)
        assert shown["train"]["updates"] and "epochs" not in shown["train"]
    (tmp_path / "again.toml").write_text(in_process("show", "pretrain", data=tmp_path)[1])
    assert in_process("show", "again.toml", data=tmp_path)[0] == 0
