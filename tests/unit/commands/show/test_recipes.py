"""`finetune cp` and the like: recipes on the command line."""

import csv
import json
import tomllib
from pathlib import Path

from support.cli import Finetune, InProcess

REVIEWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(80)]


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_data_is_no_recipe_to_copy(in_process: InProcess, tmp_path: Path) -> None:
    written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS[:9]])
    code, _, said = in_process("cp", "reviews.csv", "mine.toml", data=tmp_path)
    assert code == 2
    assert "`finetune init reviews.csv`" in said
    assert not (tmp_path / "mine.toml").exists()


def test_cp_gives_a_recipe_of_ones_own(here: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    assert here("cp", "glue-rte").returncode == 0
    text = (tmp_path / "glue-rte.toml").read_text()
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
        assert shown["options"]["replace"] == [0.8, 0.1, 0.1]
    (tmp_path / "again.toml").write_text(in_process("show", "pretrain", data=tmp_path)[1])
    assert in_process("show", "again.toml", data=tmp_path)[0] == 0
