"""The pages that lead from Trainer here: both scripts run, and the table names what there is on both sides."""

from pathlib import Path
from typing import Any

import pytest
from support.page_data import write_own_data
from support.pages import DOCS, KOREAN, blocks

import finetune

PAGES = [folder / "how-to" / "from-trainer.md" for folder in (DOCS, KOREAN)]
ENCODER = "google-bert/bert-base-uncased"


@pytest.mark.nightly
def test_both_scripts_run_on_the_same_file_and_the_recipe_is_that_run(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_own_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    theirs, ours = (block.replace(ENCODER, str(tiny_bert)) for block in blocks("py", PAGES[0]))
    exec(theirs, {"__name__": "script"})
    assert "eval_accuracy" in capsys.readouterr().out
    assert (tmp_path / "trained/best/model.safetensors").is_file()
    (recipe,) = blocks("toml", PAGES[0])
    Path("bert.toml").write_text(recipe.replace(ENCODER, str(tiny_bert)), encoding="utf-8")
    made = dict[str, Any]()
    exec(ours, made)
    assert made["run"].record.recipe["train"]["batch_size"] == 16
    assert finetune.run("bert.toml").id == made["run"].id
