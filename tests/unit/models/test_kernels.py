"""Fast kernels compute what torch and the layers of transformers compute, and are left where they cannot."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from measuring import encoder_config
from support.encoders import SIZES
from support.toys import cat_rows, cat_task
from support.training import CPU, Losses, Scored, StopsAfter, build
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, AutoModel, PretrainedConfig

from finetune.inference.engine import Engine
from finetune.models import fast_paths
from finetune.models.building import load_backbone
from finetune.models.families import FAMILIES
from finetune.models.head import EncoderWithHead
from finetune.models.kernels import attention, cpu, dropout, whole_layer
from finetune.models.kernels.attention import stay_in_half_precision
from finetune.models.kernels.cpu import gradients_of_product, product, take_fast_products
from finetune.models.kernels.layers import every_token_again, last_layer_for_first_token, take_whole_layers
from finetune.runs.process import Interrupted
from finetune.runs.recipe import Recipe, Train

Found = tuple[Tensor, dict[str, Tensor]]
IDS = torch.arange(5, 41).reshape(3, 12)
KEY_BIASES = ("key.bias", "key_proj.bias", "k_lin.bias", ".k.bias")
MASK = torch.ones(3, 12, dtype=torch.long)
MASK[1, 7:] = MASK[2, 1:] = 0
TAKEN = {  # attention, feed-forward, by family
    **dict.fromkeys(("bert", "distilbert", "albert", "mpnet"), "af"),
    **dict.fromkeys(("roberta", "xlm-roberta", "electra", "camembert", "data2vec-text", "ernie"), "af"),
    **dict.fromkeys(("deberta-v2", "big_bird", "rembert", "roformer", "longformer"), "f"),
}
DIFFERENT = ("bert", "distilbert", "albert", "mpnet", "deberta-v2", "longformer", "modernbert", "eurobert")


def each_of(kinds: Any) -> pytest.MarkDecorator:
    marked = [pytest.param(kind, marks=[] if kind in DIFFERENT else pytest.mark.slow) for kind in kinds]
    return pytest.mark.parametrize("kind", marked)


WHOLE = [kind for kind, parts in TAKEN.items() if parts == "af"]


CONFIGS: dict[str, dict[str, Any]] = {  # what a type needs besides sizes
    "big_bird": {"block_size": 4, "num_random_blocks": 1},  # its sparse attention begins above 28 tokens
    "longformer": {"attention_window": 8, "sep_token_id": 3},
}


def tiny(kind: str, *, padding: int) -> PretrainedConfig:
    """The config of a tiny encoder of a type, whose padding token has the id `padding`."""
    more = {"max_position_embeddings": 40, "vocab_size": 100, "pad_token_id": padding}
    if hasattr(CONFIG_MAPPING[kind](), "embedding_size"):
        more["embedding_size"] = 16
    shape = {"width": 32, "inner": 64, "layers": 2, "heads": 2}
    return encoder_config(kind, shape, **more, **CONFIGS.get(kind, {}))


def encoder(kind: str = "bert", *, whole: bool, first: bool = False, p: float = 0.0) -> Any:
    """The same tiny encoder of a family each time, with the kernels of a CPU."""
    torch.manual_seed(0)
    found = AutoModel.from_config(tiny(kind, padding=1)).train()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    cpu.speed_up(found, found)
    for part in found.modules():
        if isinstance(part, nn.Dropout):
            part.p = p
    if first:
        last_layer_for_first_token(found)
    if whole:
        take_whole_layers(found)
    return found


def passed(model: Any, *, half: bool = False, tokens: int = 12) -> Found:
    """The last layer of a padded batch's first `tokens` where they are not padding, and the gradients of a loss."""
    dropout.seed(1)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        states = model(input_ids=IDS, attention_mask=MASK).last_hidden_state[:, :tokens]
    states = states.float() * MASK[:, : states.shape[1], None]
    (states**3 + states**2).sum().backward()
    return states.detach(), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def distance(found: Found, expected: Found) -> float:
    """The largest difference of a tensor, as a share of it. A key's bias has no gradient: it adds one to all scores."""
    assert found[0].shape == expected[0].shape and found[1].keys() == expected[1].keys()
    pairs = [(found[1][name], each) for name, each in expected[1].items() if not name.endswith(KEY_BIASES)]
    return max(float((ours - each).norm() / each.norm()) for ours, each in [(found[0], expected[0]), *pairs])


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`a` for each attention and `f` for each feed-forward part that a kernel computed."""
    found: list[str] = []
    for name, passes in (("a", whole_layer.AttentionPasses), ("f", whole_layer.FeedForwardPasses)):

        def forward(*given: Any, name: str = name, plain: Any = passes.forward) -> Any:
            found.append(name)
            return plain(*given)

        monkeypatch.setattr(passes, "forward", forward)
    return found


@each_of(FAMILIES)
def test_each_family_has_the_vectors_and_gradients_of_its_layers(kind: str, taken: list[str]) -> None:
    expected = passed(encoder(kind, whole=False, p=0.3))
    assert not taken
    found = passed(encoder(kind, whole=True, p=0.3))
    assert sorted(taken) == sorted(TAKEN.get(kind, "") * SIZES["num_hidden_layers"])
    assert distance(found, expected) < 1e-4
    exact = passed(encoder(kind, whole=False))
    models = [encoder(kind, whole=whole) for whole in (False, True)]
    for model in models:
        stay_in_half_precision(model)
    theirs, ours = (distance(passed(model, half=True), exact) for model in models)
    assert 1e-3 < ours < 3 * theirs


@each_of(WHOLE)
def test_the_first_token_alone_has_the_vector_and_gradients_of_all_layers(kind: str) -> None:
    expected = passed(encoder(kind, whole=False), tokens=1)
    dropped = passed(encoder(kind, whole=False, first=True, p=0.3))
    every = passed(encoder(kind, whole=False))
    for whole in (False, True):
        model = encoder(kind, whole=whole, first=True)
        assert distance(passed(model), expected) < 1e-4
        assert distance(passed(encoder(kind, whole=whole, first=True, p=0.3)), dropped) < 1e-4
        again = pickle.loads(pickle.dumps(model))
        again.zero_grad()
        assert distance(passed(again), expected) < 1e-4
        model.zero_grad()
        assert every_token_again(model)
        assert not every_token_again(model)
        assert distance(passed(model), every) < 1e-4


def test_a_fast_path_that_is_not_exact_is_undone_with_a_note(
    tiny_bert: Path, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    model = EncoderWithHead(backbone, cat_task().head(backbone))
    monkeypatch.setattr(whole_layer, "gelu", torch.relu)
    notes = fast_paths.take_fast_paths(model, device=CPU)
    assert notes == ["the fast path for whole layers is not exact in type 'bert': not taken"]
    taken.clear()
    passed(backbone.encoder)
    assert taken == []


def test_attention_over_long_texts_is_the_same_without_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 2, 9, 4)
    mask = torch.zeros(2, 1, 9, 9).masked_fill(torch.rand(2, 1, 1, 9) < 0.3, torch.finfo(torch.float32).min)
    expected, _ = attention.attention(nn.Identity(), query, key, value, mask, scaling=0.5)
    monkeypatch.setattr(attention, "MOST_IN_TWO", 8)
    found, _ = attention.attention(nn.Identity(), query, key, value, mask, scaling=0.5)
    assert torch.allclose(found, expected, atol=1e-6)
    mask[0] = torch.finfo(torch.float32).min  # padding that reads padding
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = attention.attention(nn.Identity(), query, key, value, mask, scaling=0.5)
    assert found.isfinite().all()
    assert torch.allclose(found[1].float(), expected[1], atol=0.05)


HAS_ONEDNN = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN")


@pytest.fixture(params=[pytest.param(True, marks=HAS_ONEDNN), False], ids=["onednn", "mkl"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether oneDNN computes, whatever this processor is."""
    monkeypatch.setattr(cpu, "is_faster_by_onednn", lambda: request.param)
    monkeypatch.setattr(cpu, "LEAST_WORK", 1)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("m", "k", "n"), [(7, 5, 3), (0, 3, 2), (64, 48, 80)])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_products_and_gradients_are_those_of_torch(m: int, k: int, n: int, kind: torch.dtype) -> None:
    torch.manual_seed(0)
    given, weight, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
    gradient, added = torch.randn(m, n), torch.randn(m, k)
    expected = [given @ weight.T + bias, gradient.T @ given, gradient.sum(0), gradient @ weight + added]
    cast = [each.to(kind) for each in (given, weight, bias, gradient, added)]
    found = [product(cast[0], cast[1].t(), bias=cast[2])]
    found += gradients_of_product(cast[3], cast[0], cast[1], added=cast[4])
    tolerance = 0.3 if kind == torch.bfloat16 else 1e-4
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == kind
        torch.testing.assert_close(ours.float(), theirs, atol=tolerance, rtol=0.02)
    assert torch.equal(cast[4], added.to(kind))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_a_linear_layer_has_the_output_and_gradients_of_torch(frozen: bool, bias: bool) -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(6, 4, bias=bias).requires_grad_(not frozen))
    fast = copy.deepcopy(plain)
    take_fast_products(fast)
    copies = [fast, copy.deepcopy(fast), pickle.loads(pickle.dumps(fast)), plain]
    found = []
    for layer in copies:
        given = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1)).transpose(0, 1).requires_grad_()
        output = layer(given)
        output /= 2  # as Longformer does
        (output**2).sum().backward()
        gradients = [parameter.grad for parameter in layer.parameters() if not frozen]
        found.append([output.detach(), given.grad, *gradients])
    for ours in found[:-1]:
        torch.testing.assert_close(ours, found[-1])
    assert fast[0].weight.data_ptr() != copies[1][0].weight.data_ptr()


USED: dict[str, Any] = {"epochs": 3, "batch_size": 4, "learning_rate": 1e-2, "weight_decay": 0.5, "select": "best"}


def trained(folder: Path, settings: Train, *, stop_after: int = 0, checkpoint: Path | None = None) -> Any:
    """The model, losses, and logits of other texts after each epoch, which have tokens that training has not."""
    losses, found = Losses(), list[np.ndarray]()
    watch = StopsAfter(stop_after, then=losses)
    trainer, features = build(cat_task(cat_rows(16)), folder, settings, watch=watch, checkpoint=checkpoint)
    _, others = build(cat_task(cat_rows(64, seed=1)), folder, settings)

    def evaluate(engine: Engine) -> Scored:
        found.append(np.stack(engine.logits(others)))
        return Scored(headline=float(np.mean(found[-1][:, 0])))

    trainer.fit(features, evaluate)
    return trainer.model.state_dict(), losses.values, found


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"bias_correction": False}, {"layer_decay": 0.7, "accumulation": 2}], ids=str)
def test_where_used_rows_of_embeddings_are_trained_alone_the_model_is_that_of_all(
    more: dict[str, Any], tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact, settings = Train(**USED | {"dropout": 0.0} | more), Train(**USED | more)
    weights, losses, logits = trained(tiny_bert, exact)
    monkeypatch.setattr(fast_paths, "LEAST_SAVED", 1)
    found = trained(tiny_bert, exact)
    assert found[0].keys() == weights.keys()
    assert found[1] == pytest.approx(losses, rel=2e-4)
    np.testing.assert_allclose(found[2], logits, atol=2e-4)
    for name, tensor in weights.items():
        if not name.endswith("key.bias"):  # whose gradient is rounding alone
            assert torch.allclose(found[0][name], tensor, atol=5e-4), name
    whole = trained(tiny_bert, settings)
    with pytest.raises(Interrupted):
        trained(tiny_bert, settings, stop_after=1, checkpoint=tmp_path)
    resumed = trained(tiny_bert, settings, checkpoint=tmp_path)
    assert resumed[1] == whole[1][4:]
    assert [name for name, tensor in whole[0].items() if not torch.equal(tensor, resumed[0][name])] == []
