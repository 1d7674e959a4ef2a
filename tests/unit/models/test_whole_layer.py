"""An encoder's layer as one function: the vectors and gradients of transformers' layer, and where it is left alone."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from support.encoders import SIZES
from support.tiny_encoders import tiny
from support.toys import cat_task
from torch import Tensor, nn
from transformers import AutoModel

from finetune.models.building import build_model
from finetune.models.families import FAMILIES
from finetune.models.kernels import cpu, dropout, layers, whole_layer
from finetune.models.kernels.layers import PARTS, take_fast_layers
from finetune.runs.recipe import Recipe

Found = tuple[Tensor, dict[str, Tensor]]
IDS = torch.arange(5, 41).reshape(3, 12)
KEY_BIASES = ("key.bias", "key_proj.bias", "k_lin.bias", ".k.bias")
MASK = torch.ones(3, 12, dtype=torch.long)
MASK[1, 7:] = MASK[2, 1:] = 0


def encoder(kind: str, *, whole: bool, first: bool = False, p: float = 0.0, **more: Any) -> Any:
    """The same tiny encoder of a family each time, with the kernels of a CPU."""
    torch.manual_seed(0)
    config = tiny(kind, padding=1)
    config.update(more)
    found = AutoModel.from_config(config).train()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    cpu.speed_up(found, found)
    for part in found.modules():
        if isinstance(part, nn.Dropout):
            part.p = p
    take_fast_layers(found, whole=whole, first=first)
    return found


def passed(model: Any, *, half: bool = False, tokens: int = 12) -> Found:
    """The last layer of a padded batch where it is not padding, and the gradients of a loss of it; of the first
    `tokens` alone.
    """
    dropout.seed(1)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        states = model(input_ids=IDS, attention_mask=MASK).last_hidden_state[:, :tokens]
    states = states.float() * MASK[:, : states.shape[1], None]
    (states**3 + states**2).sum().backward()
    return states.detach(), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def distance(found: Found, expected: Found) -> float:
    """The largest difference of a tensor, as a share of it. A key's bias has no gradient: it adds one to all scores."""
    pairs = [(found[0], expected[0]), *((found[1][name], each) for name, each in expected[1].items())]
    names = ["states", *expected[1]]
    return max(
        float((ours - theirs).norm() / theirs.norm())
        for name, (ours, theirs) in zip(names, pairs, strict=True)
        if not name.endswith(KEY_BIASES)
    )


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A letter for each attention and feed-forward part that was computed by the kernels."""
    calls: list[str] = []
    for name, passes in (("a", whole_layer.AttentionPasses), ("f", whole_layer.FeedForwardPasses)):

        def forward(*given: Any, name: str = name, plain: Any = passes.forward) -> Any:
            calls.append(name)
            return plain(*given)

        monkeypatch.setattr(passes, "forward", forward)
    return calls


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("kind", FAMILIES)
def test_each_family_has_the_vectors_and_gradients_of_its_layers(kind: str, p: float, taken: list[str]) -> None:
    expected = passed(encoder(kind, whole=False, p=p))
    assert not taken
    found = passed(encoder(kind, whole=True, p=p))
    assert set(taken) == ({"a", "f"} if FAMILIES[kind].kernels in PARTS else set())
    assert found[1].keys() == expected[1].keys()
    assert distance(found, expected) < 1e-4


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_the_first_token_alone_has_the_vector_and_gradients_of_all_layers(kind: str) -> None:
    expected = passed(encoder(kind, whole=False), tokens=1)
    dropped = passed(encoder(kind, whole=False, first=True, p=0.3))
    for whole in (False, True):
        model = encoder(kind, whole=whole, first=True)
        found = passed(model)
        assert found[0].shape == expected[0].shape
        assert found[1].keys() == expected[1].keys()
        assert distance(found, expected) < 1e-4
        assert distance(passed(encoder(kind, whole=whole, first=True, p=0.3)), dropped) < 1e-4
        again = pickle.loads(pickle.dumps(model))
        again.zero_grad()
        assert distance(passed(again), expected) < 1e-4


@pytest.mark.parametrize("kind", ["bert", "distilbert", "albert"])
def test_half_precision_is_about_as_near_single_precision_as_the_layers(kind: str) -> None:
    exact = passed(encoder(kind, whole=False))
    theirs, ours = (distance(passed(encoder(kind, whole=whole), half=True), exact) for whole in (False, True))
    assert 1e-3 < ours < 3 * theirs  # states between layers are rounded, too


def test_frozen_weights_have_no_gradient_and_the_others_the_same() -> None:
    models = [encoder("bert", whole=whole) for whole in (False, True)]
    for model in models:
        model.embeddings.requires_grad_(False)
        model.encoder.layer[0].attention.requires_grad_(False)
    expected, found = map(passed, models)
    assert found[1].keys() == expected[1].keys()
    assert distance(found, expected) < 2e-5


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_long_texts_another_activation_and_lora_are_computed_by_transformers(
    kind: str, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    relu = {"hidden_act": "relu"} if kind == "bert" else {"activation": "relu"}
    expected = passed(encoder(kind, whole=False, **relu))
    assert distance(passed(encoder(kind, whole=True, **relu)), expected) < 1e-4
    assert set(taken) == {"a"}
    taken.clear()
    monkeypatch.setattr(layers, "MOST_IN_TWO", 11)
    assert distance(passed(encoder(kind, whole=True)), passed(encoder(kind, whole=False))) < 1e-4
    assert "a" not in taken
    with_lora = encoder(kind, whole=False)
    with_lora.lora_A = nn.Identity()
    take_fast_layers(with_lora, whole=True, first=False)
    taken.clear()
    passed(with_lora)
    assert taken == []


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_the_first_token_alone_takes_no_kernel_of_a_cpu_elsewhere(kind: str) -> None:
    model = AutoModel.from_config(tiny(kind, padding=1)).train()
    take_fast_layers(model, whole=False, first=True)
    states = model.to("meta")(input_ids=IDS.to("meta")).last_hidden_state  # where masks of numpy cannot be applied
    assert states.shape == (3, 1, 32)


def test_it_is_taken_by_every_model_that_is_built(tiny_bert: Path, taken: list[str]) -> None:
    model, _ = build_model(tiny_bert, cat_task().head, Recipe(task="any"), device=torch.device("cpu"))
    assert passed(model.backbone.encoder)[0].shape[1] == 1
    assert taken == ["a", "f"] * SIZES["num_hidden_layers"]
