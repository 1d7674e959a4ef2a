"""The pages that lead from Trainer here: both scripts run, and the table names what there is on both sides."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import transformers
from support.page_data import write_own_data
from support.pages import DOCS, KOREAN, blocks, page_name
from transformers import TrainingArguments

import finetune
from finetune.commands import COMMANDS
from finetune.runs.recipe import Recipe, Train

PAGES = [folder / "how-to" / "from-trainer.md" for folder in (DOCS, KOREAN)]
ENCODER = "google-bert/bert-base-uncased"


def rows(page: Path) -> list[list[list[str]]]:
    """The names in code of the first two cells of each row of the table of arguments."""
    lines = re.findall(r"^\| (`.*?) \| (.*?) \| .*\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [[re.findall(r"`(.*?)`", cell) for cell in cells] for cells in lines]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_table_names_arguments_and_settings_that_exist(page: Path) -> None:
    arguments = {field.name for field in dataclasses.fields(TrainingArguments)}
    settings = {*Recipe.model_fields, *(f"train.{name}" for name in Train.model_fields)}
    found = rows(page)
    assert len(found) > 20
    for theirs, ours in found:
        assert [name for name in theirs if name not in arguments and not hasattr(transformers, name)] == []
        options = [name for name in ours if name.startswith("--")]
        names = [name.partition("=")[0] for name in ours if not name.startswith(("--", "finetune "))]
        assert [name for name in names if name not in settings] == []
        assert [name for name in ours if name.startswith("finetune ") and name.split()[1] not in COMMANDS] == []
        assert {option.split()[0] for option in options} <= {"--out", "--checkpoint-updates", "--track", "--device"}


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
