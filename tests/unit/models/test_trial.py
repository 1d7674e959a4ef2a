"""What a trial of an encoder finds: padding that is read, and weights that no text reaches."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from support.encoders import wordpiece
from support.toys import cat_task, choice_task, tag_task
from support.training import CPU, Losses, build, fit
from tiny_encoders import batch_of, save_random, tiny

from finetune.errors import UserError
from finetune.models.building import build_model
from finetune.models.head import EncoderWithHead
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.task import Task


def save_tiny(kind: str, folder: Path) -> Path:
    """A tiny encoder of a type with the vocabulary of the toys."""
    config = tiny(kind, padding=0)
    config.vocab_size = wordpiece(folder, "BertTokenizer")
    save_random(config, folder)
    return folder


def built(folder: Path) -> EncoderWithHead:
    return build_model(folder, cat_task().head, Recipe(task="any"), device=CPU)[0]


@pytest.mark.parametrize("task", [cat_task(), tag_task(), choice_task()], ids=lambda task: task.name)
def test_an_answer_does_not_depend_on_its_neighbours(task: Task, tmp_path: Path) -> None:
    """FNet mixes all positions, those of padding too: longer neighbours changed a text's answer."""
    trainer, features = build(task, save_tiny("fnet", tmp_path), Train())
    assert any("read padding" in note for note in trainer.model.notes)
    together = trainer.engine.logits(features)
    for feature, expected in zip(features, together, strict=True):
        (alone,) = trainer.engine.logits([feature])
        assert abs(alone - expected).max() < 1e-5


def test_the_states_of_a_frozen_encoder_do_not_either(tmp_path: Path) -> None:
    trainer, features = build(tag_task(), save_tiny("fnet", tmp_path), Train(), frozen=True, layers=[1])
    layers = trainer.model.backbone.layer_indices(pooled=False)
    together = dict(trainer.engine.hidden_states(features, layers))
    for index, feature in enumerate(features):
        ((_, alone),) = trainer.engine.hidden_states([feature], layers)
        assert abs(alone - together[index]).max() < 1e-5


def test_training_does_not_depend_on_the_parts_of_a_batch(tmp_path: Path) -> None:
    def losses(parts: int) -> list[float]:
        watch = Losses()
        settings = Train(epochs=1, dropout=0.0, batch_size=16, accumulation=parts)
        fit(cat_task(), folder, settings, watch=watch)
        return watch.values

    folder = save_tiny("fnet", tmp_path)
    assert losses(1) == pytest.approx(losses(16), rel=1e-4)


def answers(model: EncoderWithHead, lengths: list[int]) -> list[torch.Tensor]:
    with torch.no_grad():
        return list(model(*batch_of(model.backbone.config, lengths).inputs()))


def test_a_long_text_is_read_sparsely_after_a_short_one_too(tmp_path: Path) -> None:
    """transformers' BigBird stays with full attention after its first short text, as is the one that is tried."""
    model = built(save_tiny("big_bird", tmp_path)).eval()
    assert model.backbone.padded_up_to == 28
    (long,) = answers(model, [40])
    answers(model, [5])
    for again in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (answers(again, [40, 5])[0] - long).abs().max() < 1e-5
    drawn = torch.get_rng_state()
    for batch in (batch_of(model.backbone.config, [length]) for length in (40, 5)):
        torch.set_rng_state(drawn)
        model(*batch.inputs())
        assert torch.equal(torch.get_rng_state(), drawn)  # a change of attention draws no weights


@pytest.mark.parametrize("reading", [{"pooling": "mean"}, {"layers": [0]}])
def test_an_encoder_without_attention_is_refused_whatever_is_read(reading: dict[str, Any], tmp_path: Path) -> None:
    """MRA's attention is zero without a kernel for GPUs; a mean still depends on all tokens."""
    recipe = Recipe(task="any", **reading)
    with pytest.raises(UserError, match="type 'mra' cannot be used: transformers has no code for their attention"):
        build_model(save_tiny("mra", tmp_path), cat_task().head, recipe, device=CPU)


def test_an_encoder_with_a_last_layer_of_another_width_is_refused_whatever_is_read(tmp_path: Path) -> None:
    recipe = Recipe(task="any", layers="weighted-sum-all")
    with pytest.raises(UserError, match="type 'reformer' cannot be used"):
        build_model(save_tiny("reformer", tmp_path), cat_task().head, recipe, device=CPU)


def test_weights_that_no_text_reaches_are_not_trained(tiny_bert: Path, tmp_path: Path) -> None:
    model = built(save_tiny("esm", tmp_path))
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {f"backbone.encoder.contact_head.regression.{part}" for part in ("weight", "bias")}
    assert all(parameter.requires_grad for parameter in built(tiny_bert).parameters())
