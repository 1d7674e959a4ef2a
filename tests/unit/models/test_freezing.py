"""Layers that are frozen, re-initialised, or learn more slowly."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import CPU, fit

from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model, load_backbone
from finetune.models.freezing import layers_of
from finetune.models.model_folder import load_config, load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.training.trainer import build_optimizer


def changed(folder: Path, **reading: Any) -> set[str]:
    """The parts of the encoder that training changed."""
    trainer, _, _ = fit(cat_task(), folder, Train(learning_rate=1e-3, epochs=1), **reading)
    before, _ = load_backbone(folder, Recipe(task="any"))
    now = trainer.model.backbone.encoder.state_dict()
    names = [
        name
        for name, tensor in before.encoder.state_dict().items()
        if name in now and not torch.equal(tensor, now[name])
    ]
    return {".".join(name.split(".")[: 3 if "layer." in name else 1]) for name in names}


def test_the_first_layers_can_be_frozen(tiny_bert: Path) -> None:
    assert changed(tiny_bert) == {"embeddings", "encoder.layer.0", "encoder.layer.1", "pooler"}
    assert changed(tiny_bert, freeze_layers=1) == {"encoder.layer.1", "pooler"}


def test_the_last_layers_can_be_reinitialised(tiny_bert: Path) -> None:
    pretrained, _ = load_backbone(tiny_bert, Recipe(task="any"))
    reset, _ = load_backbone(tiny_bert, Recipe(task="any", reinit_layers=1))
    old, new = pretrained.encoder.state_dict(), reset.encoder.state_dict()
    differ = {name for name in old if not torch.equal(old[name], new[name])}
    assert all(name.startswith(("encoder.layer.1.", "pooler")) for name in differ)
    assert "encoder.layer.1.attention.self.query.weight" in differ
    spread = float(new["encoder.layer.1.intermediate.dense.weight"].std())
    assert spread == pytest.approx(0.88 * pretrained.config.initializer_range, rel=0.05)
    one, _ = build_model(tiny_bert, cat_task().head, Recipe(task="any", reinit_layers=1, seed=1), device=CPU)
    same, _ = build_model(tiny_bert, cat_task().head, Recipe(task="any", reinit_layers=1, seed=1), device=CPU)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))


def test_new_layers_of_a_frozen_encoder_are_refused(tiny_bert: Path) -> None:
    """They would stay random, and their states would be kept under the name of the pretrained ones."""
    with pytest.raises(UserError, match="reinit_layers = 1 with frozen = true"):
        load_backbone(tiny_bert, Recipe(task="any", frozen=True, reinit_layers=1))


@pytest.mark.parametrize("family", ["bert", "distilbert", "electra", "roberta", "deberta"])
def test_an_encoder_keeps_some_of_its_layers(family: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = request.getfixturevalue(f"tiny_{family}")
    whole, _ = load_backbone(folder, Recipe(task="any"))
    model, _ = build_model(folder, cat_task().head, Recipe(task="any", keep_layers=[1]), device=CPU)
    kept, every = layers_of(model.backbone.encoder), layers_of(whole.encoder)
    assert len(kept) == 1 == model.backbone.config.num_hidden_layers
    names = every[1].state_dict()
    assert all(torch.equal(tensor, names[name]) for name, tensor in kept[0].state_dict().items())
    save_checkpoint(model, tmp_path / "model", load_tokenizer(folder), {})
    again, rows = load_trained(tmp_path / "model", cat_task().head), cat_task().read(None, "train").rows[:4]
    batch = collate(cat_task().encode(rows, load_tokenizer(folder), 16), pad_id=0)
    torch.testing.assert_close(again.eval()(*batch.inputs()), model.eval()(*batch.inputs()))


def test_layers_that_differ_by_their_place_are_not_left_out(tiny_modernbert: Path) -> None:
    """Every third reads the whole text there: a checkpoint of fewer layers would read it in others."""
    depth = load_config(tiny_modernbert).num_hidden_layers
    with pytest.raises(UserError, match="differ by their place"):
        load_backbone(tiny_modernbert, Recipe(task="any", keep_layers=[depth - 1]))


def test_layers_above_those_that_are_read_are_not_trained(tiny_bert: Path) -> None:
    assert changed(tiny_bert, layers=[1]) == {"embeddings", "encoder.layer.0"}


@pytest.mark.parametrize("family", ["bert", "distilbert", "electra", "roberta"])
def test_lower_layers_learn_more_slowly(family: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(f"tiny_{family}")
    model, _ = build_model(folder, cat_task().head, Recipe(task="any"), device=CPU)
    optimizer = build_optimizer(model, Train(learning_rate=1.0, layer_decay=0.5))
    rate = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    encoder = model.backbone.encoder
    assert len(rate) == sum(p.requires_grad for p in model.parameters())
    assert {rate[id(p)] for p in model.head.parameters()} == {1.0}
    assert {rate[id(p)] for p in encoder.embeddings.parameters()} == {0.125}
    layers = encoder.transformer.layer if family == "distilbert" else encoder.encoder.layer
    assert [{rate[id(p)] for p in layer.parameters()} for layer in layers] == [{0.25}, {0.5}]
    decays = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert {decays[id(p)] for p in model.parameters() if p.ndim < 2} == {0.0}
    assert {decays[id(p)] for p in model.parameters() if p.ndim > 1} == {0.01}


def test_settings_that_an_encoder_cannot_take_are_refused(tiny_bert: Path, tiny_albert: Path) -> None:
    for reading, words in (
        ({"freeze_layers": 3}, "freeze_layers: 3, and this encoder has 2 layers"),
        ({"reinit_layers": 9}, "reinit_layers: 9, and"),
        ({"freeze_layers": 1, "reinit_layers": 2}, "the two together: 3, and"),
        ({"keep_layers": [2]}, r"keep_layers = \[2\], and this encoder has the layers 0 to 1"),
        ({"keep_layers": [1, 1]}, "in rising order"),
        ({"keep_layers": [-1]}, "in rising order"),
    ):
        with pytest.raises(UserError, match=words):
            load_backbone(tiny_bert, Recipe(task="any", **reading))
    with pytest.raises(UserError, match="'albert'"):
        load_backbone(tiny_albert, Recipe(task="any", freeze_layers=1))
