"""Layers that are frozen, re-initialised, or learn more slowly."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import CPU, fit

from finetune.errors import UserError
from finetune.models.saving import build_model, load_backbone
from finetune.runs.recipe import Recipe, Train
from finetune.training.optimizer import build_optimizer


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
    ):
        with pytest.raises(UserError, match=words):
            load_backbone(tiny_bert, Recipe(task="any", **reading))
    with pytest.raises(UserError, match="'albert'"):
        load_backbone(tiny_albert, Recipe(task="any", freeze_layers=1))
