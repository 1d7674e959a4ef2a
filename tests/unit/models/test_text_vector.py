"""The vector of a text that a head reads: the mean of its tokens, and which one fits an encoder."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.pairs import each_task_and_family, each_with_families
from support.records import change_config
from support.toys import cat_task, choice_task, labels_task, length_task, tag_task
from support.training import build
from transformers import AutoModel, AutoTokenizer

from finetune.errors import UserError
from finetune.inference.hidden_states import with_states
from finetune.models.batch import collate
from finetune.models.model_folder import FEW_ROWS, fitting_pooling, load_config, load_trained, save_checkpoint
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task

POOLED = [cat_task(), length_task(), labels_task(), choice_task()]


VECTORS = {"mean": ("mean", "last"), "cls": ("cls", "last"), "layer": ("mean", [1]), "unit": ("unit", "last")}


@each_with_families(["pooling", "layers"], VECTORS)
def test_it_is_that_of_transformers_whatever_the_padding(
    pooling: str, layers: Any, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path))
    trainer, features = build(cat_task(), tiny_encoder, Train(), pooling=pooling, layers=layers)
    model, encoder = trainer.model.eval(), AutoModel.from_pretrained(tiny_encoder, dtype=torch.float32).eval()
    number = -1 if layers == "last" else layers[0]
    some = sorted(features[:20], key=len)
    assert len(some[0]) < len(some[-1])
    with torch.no_grad():
        found, _ = model.hidden(trainer.engine.batch(some))
        for feature, ours in zip(some, found, strict=True):
            states = encoder(torch.tensor([feature.input_ids]), output_hidden_states=True).hidden_states[number][0]
            mean = states.mean(0)
            expected = {"mean": mean, "unit": mean / mean.norm(), "cls": states[0]}[pooling]
            assert torch.allclose(ours, expected, atol=1e-5)
    kept = with_states(some, trainer.engine, weights="w", precision="fp32")
    assert torch.allclose(torch.tensor(kept[0].states()[0, 0]).float(), found[0], atol=1e-2)  # type: ignore[misc]


@pytest.mark.parametrize("pooling", ["mean", "unit"])
@each_task_and_family(POOLED)
def test_such_a_model_is_saved_and_loaded_with_the_same_logits(
    task: Task, pooling: str, tiny_encoder: Path, tmp_path: Path
) -> None:
    trainer, features = build(task, tiny_encoder, Train(), pooling=pooling)
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    save_checkpoint(trainer.model, tmp_path, tokenizer, {"task": task.name, "max_length": 32, "pooling": pooling})
    again = load_trained(tmp_path, task.head)
    batch = collate(features[:4], pad_id=tokenizer.pad_token_id)
    with torch.no_grad():
        ours, theirs = (model.eval()(*batch.inputs()) for model in (trainer.model, again))
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_a_head_on_tokens_does_not_take_it(tiny_bert: Path) -> None:
    with pytest.raises(UserError, match=r"pooling = 'mean'.*reads each token"):
        build(tag_task(), tiny_bert, Train(), pooling="mean")


@pytest.mark.parametrize("pooling", ["median", 1, {"a": 1}])
def test_a_saved_config_with_another_is_an_error(pooling: Any, tiny_bert: Path, tmp_path: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, Train(), pooling="mean")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    save_checkpoint(trainer.model, tmp_path, tokenizer, {"task": "cat", "max_length": 32, "pooling": pooling})
    with pytest.raises(UserError, match="pooling of 'finetune' is"):
        load_trained(tmp_path, cat_task().head)


def fitting(folder: Path, rows: int = 50, **settings: Any) -> str:
    """What `auto` means for an encoder."""
    recipe = Recipe(task="any", pooling="auto", **settings)
    return fitting_pooling(recipe, folder, load_config(folder), rows=rows)


def sentence_encoder(folder: Path, settings: dict[str, Any], *, name: str = "1_Pooling") -> Path:
    """An encoder's folder as sentence-transformers writes it."""
    modules = [
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": name, "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    if name == "1_Pooling":
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def bert(tiny_bert: Path, tmp_path: Path) -> Path:
    """A copy of an encoder, to be changed."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "bert"))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),  # of later versions
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, "family"),  # both, concatenated
        ({"pooling_mode_max_tokens": True}, "family"),  # not one of ours
    ],
)
def test_a_sentence_encoder_says_which_it_was_trained_with(settings: dict[str, Any], expected: str, bert: Path) -> None:
    assert fitting(sentence_encoder(bert, settings)) == expected


def test_a_hostile_list_of_modules_names_no_other_folder(bert: Path) -> None:
    assert fitting(sentence_encoder(bert, {}, name="../elsewhere")) == "family"
    (bert / "modules.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match="is not JSON"):
        fitting(bert)


def test_a_pretrained_pooler_is_used_and_a_new_one_is_not(bert: Path, tiny_roberta: Path) -> None:
    assert fitting(bert) == "family"
    assert fitting(tiny_roberta) == "mean"  # its classes put a new layer there
    weights = load_file(bert / "model.safetensors")
    without = {name: tensor for name, tensor in weights.items() if "pooler" not in name}
    assert len(without) < len(weights)
    save_file(without, bert / "model.safetensors", metadata={"format": "pt"})
    assert fitting(bert) == "mean"


def test_with_many_rows_the_model_stays_one_that_transformers_loads(tiny_roberta: Path) -> None:
    assert fitting(tiny_roberta, FEW_ROWS - 1) == "mean"
    assert fitting(tiny_roberta, FEW_ROWS) == "family"
    assert fitting(tiny_roberta, FEW_ROWS, frozen=True) == "mean"
    assert fitting(tiny_roberta, 50, train={"solver": "contrastive"}) == "unit"  # of linear heads
    assert fitting(tiny_roberta, 50, bilstm=True) == fitting(tiny_roberta, 50, layers=[1]) == "family"
    assert fitting(tiny_roberta, 50, lora=4, adapter=True) == "family"


def test_an_encoder_goes_on_as_it_was_trained_before(bert: Path) -> None:
    change_config(bert, finetune={"pooling": "mean"})
    assert fitting(bert) == "mean"


def test_named_settings_are_taken(tiny_roberta: Path) -> None:
    named = Recipe(task="any", pooling="cls")
    assert fitting_pooling(named, tiny_roberta, load_config(tiny_roberta), rows=5) == "cls"
    with pytest.raises(ValueError, match="BiLSTM"):
        Recipe(task="any", pooling="mean", bilstm=True)
