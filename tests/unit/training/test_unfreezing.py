"""Gradual unfreezing: which weights an epoch trains, alone and with other settings."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import Scored, build, unscored

from finetune.runs.recipe_tables import Train
from finetune.training.trainer import Paused, Trainer
from finetune.training.unfreezing import unfreezing_of
from finetune.training.update_notes import update_notes

LAYERS = ("embeddings", "layer.0", "layer.1", "pooler", "head")  # of the tiny encoder, the lowest first


def settings(**more: Any) -> Train:
    rate = {} if more.get("schedule") == "noam" else {"learning_rate": 1e-2}
    return Train(**{"unfreeze_layers": 1, "epochs": 4, "batch_size": 16, "warmup": 0.0} | rate | more)


def changed_by_epoch(folder: Path, train: Train, **reading: Any) -> list[set[str]]:
    """The parts of the model that each epoch changed."""
    trainer, features = build(cat_task(), folder, train, **reading)
    found: list[set[str]] = []
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}

    def evaluate(_: Any) -> Scored:
        moved = {name for name, p in trainer.model.named_parameters() if not torch.equal(p, before[name])}
        found.append({part for part in LAYERS for name in moved if part in name})
        before.update({name: p.detach().clone() for name, p in trainer.model.named_parameters()})
        return Scored()

    trainer.fit(features, evaluate)
    assert all(p.requires_grad or reading for p in trainer.model.parameters())
    return found


def test_an_epoch_trains_a_layer_more(tiny_bert: Path) -> None:
    new = {"head", "pooler"}
    found = changed_by_epoch(tiny_bert, settings())
    assert found == [new, new | {"layer.1"}, new | {"layer.1", "layer.0"}, {*LAYERS}]
    assert changed_by_epoch(tiny_bert, settings(unfreeze_layers=2, epochs=2))[1] == new | {"layer.0", "layer.1"}


@pytest.mark.parametrize("solver", ["adam", "radam", "sgd"])
def test_it_goes_with_every_optimizer_decay_and_checkpointing(solver: str, tiny_bert: Path) -> None:
    train = settings(solver=solver, layer_decay=0.5, gradient_checkpointing=True, accumulation=2)
    assert [len(parts) for parts in changed_by_epoch(tiny_bert, train)] == [2, 3, 4, 5]


def test_frozen_layers_stay_frozen(tiny_bert: Path) -> None:
    assert changed_by_epoch(tiny_bert, settings(), freeze_layers=1)[-1] == {"head", "pooler", "layer.1"}


def test_lora_is_unfrozen_layer_by_layer(tiny_bert: Path) -> None:
    """The matrices that are 0 at first hold back those before them."""
    found = changed_by_epoch(tiny_bert, settings(epochs=3), lora=2)
    assert [{part for part in parts if "layer" in part} for parts in found] == [
        set(),
        {"layer.1"},
        {"layer.0", "layer.1"},
    ]


@pytest.mark.parametrize("more", [{"solver": "radam"}, {"solver": "sgd"}, {"schedule": "noam", "warmup": 0.5},
                                  {"schedule": "slanted_triangular"}])  # fmt: skip
@pytest.mark.parametrize("pause", [1, 2])
def test_a_resumed_run_has_the_same_bits(more: dict[str, Any], pause: int, tiny_bert: Path, tmp_path: Path) -> None:
    def trained(trainer: Trainer, features: Any) -> dict[str, torch.Tensor]:
        trainer.fit(features, unscored)
        return trainer.model.state_dict()

    whole = trained(*build(cat_task(), tiny_bert, settings(**more)))
    first, features = build(cat_task(), tiny_bert, settings(**more), checkpoint=tmp_path)
    first.pause_after = pause
    with pytest.raises(Paused):
        first.fit(features, unscored)
    resumed = trained(*build(cat_task(), tiny_bert, settings(**more), checkpoint=tmp_path))
    assert all(torch.equal(tensor, resumed[name]) for name, tensor in whole.items())


def test_gradients_that_other_processes_need_change_nothing(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes compute the gradients of frozen layers too, and leave them out of norm and update; but for
    rounding.
    """
    results = []
    for alone in (True, False):
        if not alone:
            monkeypatch.setattr("finetune.training.updates.Updater._unfrozen", lambda self, epoch: torch.enable_grad())
        trainer, features = build(cat_task(), tiny_bert, settings())
        trainer.fit(features, unscored)
        results.append(trainer.model.state_dict())
    assert all(torch.allclose(tensor, results[1][name], atol=1e-3) for name, tensor in results[0].items())


def test_notes_say_what_a_run_will_do(tiny_bert: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, settings())

    def notes(**more: Any) -> list[str]:
        return [*update_notes(trainer.model, settings(**more), updates=100)]

    assert notes() == []
    (late,) = notes(epochs=2)
    assert "from epoch 4 on, and the run has 2 epochs" in late
    (noam,) = notes(schedule="noam", warmup=0.25)
    assert "rises to 0.0354 at update 25 of 100 (width 32" in noam
    assert "lower train.noam_factor" in noam
    assert "lower" not in notes(schedule="noam", warmup=0.25, noam_factor=0.001)[0]
    (slow,) = notes(solver="sgd", learning_rate=2e-5)
    assert "learning rate of 2e-05" in slow


def test_layers_that_share_weights_are_refused(tiny_albert: Path) -> None:
    trainer, _ = build(cat_task(), tiny_albert, Train())
    with pytest.raises(Exception, match=r"train\.unfreeze_layers"):
        unfreezing_of(trainer.model, 1)
