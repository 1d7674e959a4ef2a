"""An encoder's layer as one function: the vectors and gradients of transformers' layer, and where it is left alone."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.encoders import SIZES
from support.tiny_encoders import tiny
from support.toys import cat_task
from torch import Tensor, nn
from transformers import AutoModel, BertConfig, BertModel

from finetune.models import fast_paths
from finetune.models.building import load_backbone
from finetune.models.families import FAMILIES
from finetune.models.head import EncoderWithHead
from finetune.models.kernels import cpu, dropout, layers, whole_layer
from finetune.models.kernels.attention import stay_in_half_precision
from finetune.models.kernels.layers import every_token_again, last_layer_for_first_token, take_whole_layers
from finetune.runs.recipe import Recipe

Found = tuple[Tensor, dict[str, Tensor]]
IDS = torch.arange(5, 41).reshape(3, 12)
KEY_BIASES = ("key.bias", "key_proj.bias", "k_lin.bias", ".k.bias")
MASK = torch.ones(3, 12, dtype=torch.long)
MASK[1, 7:] = MASK[2, 1:] = 0


def encoder(folder: Path, *, whole: bool, first: bool = False, p: float = 0.0) -> Any:
    """The same encoder each time, with the kernels of a CPU."""
    found = AutoModel.from_pretrained(folder).train()
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


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("first", [False, True])
def test_vectors_and_gradients_are_those_of_the_layer(tiny_bert: Path, first: bool, p: float) -> None:
    expected = passed(encoder(tiny_bert, whole=False, first=first, p=p))
    found = passed(encoder(tiny_bert, whole=True, first=first, p=p))
    assert found[1].keys() == expected[1].keys()
    assert found[0].shape[1] == (1 if first else 12)
    assert distance(found, expected) < 2e-5


def test_half_precision_is_about_as_near_single_precision_as_the_layer(tiny_bert: Path) -> None:
    exact = passed(encoder(tiny_bert, whole=False))
    theirs = distance(passed(encoder(tiny_bert, whole=False), half=True), exact)
    ours = distance(passed(encoder(tiny_bert, whole=True), half=True), exact)
    assert 1e-3 < ours < 2.5 * theirs  # states between layers are rounded, too


def test_frozen_weights_have_no_gradient_and_the_others_the_same(tiny_bert: Path) -> None:
    models = [encoder(tiny_bert, whole=whole) for whole in (False, True)]
    for model in models:
        model.embeddings.requires_grad_(False)
        model.encoder.layer[0].attention.requires_grad_(False)
    expected, found = map(passed, models)
    assert found[1].keys() == expected[1].keys()
    assert distance(found, expected) < 2e-5


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One number for each attention that was computed by the kernel."""
    calls: list[int] = []
    plain = whole_layer.AttentionPasses.forward

    def forward(*given: Any) -> Any:
        calls.append(1)
        return plain(*given)

    monkeypatch.setattr(whole_layer.AttentionPasses, "forward", forward)
    return calls


def test_it_is_taken_by_every_model_that_is_built(tiny_bert: Path, counted: list[int]) -> None:
    passed(encoder(tiny_bert, whole=True))
    assert len(counted) == SIZES["num_hidden_layers"]


def test_layers_whose_attention_is_recorded_or_long_are_left_alone(
    tiny_bert: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = encoder(tiny_bert, whole=True)
    recorded.set_attn_implementation("eager")
    output = recorded(input_ids=IDS, attention_mask=MASK, output_attentions=True)
    assert len(output.attentions) == SIZES["num_hidden_layers"]
    monkeypatch.setattr(layers, "MOST_IN_TWO", 11)
    passed(encoder(tiny_bert, whole=True))
    assert counted == []


def test_layers_with_other_parts_are_left_alone(
    counted: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another activation, and a product that LoRA has replaced."""
    BertModel(BertConfig(vocab_size=60, hidden_act="relu", **SIZES)).save_pretrained(tmp_path)
    monkeypatch.delattr(whole_layer.FeedForwardPasses, "forward")
    replaced = encoder(tmp_path, whole=True)
    for layer in replaced.encoder.layer:
        layer.attention.self.query = nn.Sequential(layer.attention.self.query)
    passed(replaced)
    assert counted == []


TAKEN = {  # attention, feed-forward, by family
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra", "camembert", "data2vec-text", "ernie"), "af"),
    **dict.fromkeys(("distilbert", "albert", "mpnet"), "af"),
    **dict.fromkeys(("deberta-v2", "big_bird", "rembert", "roformer", "longformer"), "f"),
}


def of_family(kind: str, *, whole: bool, first: bool = False, p: float = 0.0) -> Any:
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


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("kind", FAMILIES)
def test_each_family_has_the_vectors_and_gradients_of_its_layers(
    kind: str, p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = set()
    for name, passes in (("a", whole_layer.AttentionPasses), ("f", whole_layer.FeedForwardPasses)):

        def forward(*given: Any, name: str = name, plain: Any = passes.forward) -> Any:
            taken.add(name)
            return plain(*given)

        monkeypatch.setattr(passes, "forward", forward)
    expected = passed(of_family(kind, whole=False, p=p))
    assert not taken
    found = passed(of_family(kind, whole=True, p=p))
    assert taken == set(TAKEN.get(kind, ""))
    assert found[1].keys() == expected[1].keys()
    assert distance(found, expected) < 1e-4


@pytest.mark.parametrize("kind", [kind for kind, parts in TAKEN.items() if parts == "af"])
def test_the_first_token_alone_has_the_vector_and_gradients_of_all_layers(kind: str) -> None:
    expected = passed(of_family(kind, whole=False), tokens=1)
    dropped = passed(of_family(kind, whole=False, first=True, p=0.3))
    every = passed(of_family(kind, whole=False))
    for whole in (False, True):
        model = of_family(kind, whole=whole, first=True)
        found = passed(model)
        assert found[0].shape == expected[0].shape
        assert found[1].keys() == expected[1].keys()
        assert distance(found, expected) < 1e-4
        assert distance(passed(of_family(kind, whole=whole, first=True, p=0.3)), dropped) < 1e-4
        again = pickle.loads(pickle.dumps(model))
        again.zero_grad()
        assert distance(passed(again), expected) < 1e-4
        model.zero_grad()
        assert every_token_again(model)
        assert not every_token_again(model)
        assert distance(passed(model), every) < 1e-4


@pytest.mark.parametrize("kind", [kind for kind, parts in TAKEN.items() if parts == "af"])
def test_the_first_token_alone_takes_no_kernel_of_a_cpu_elsewhere(kind: str) -> None:
    model = AutoModel.from_config(tiny(kind, padding=1)).train()
    last_layer_for_first_token(model)
    states = model.to("meta")(input_ids=IDS.to("meta")).last_hidden_state  # where masks of numpy cannot be applied
    assert states.shape == (3, 1, 32)


@pytest.mark.parametrize("kind", TAKEN)
def test_each_family_is_about_as_near_in_half_precision_as_its_layers(kind: str) -> None:
    exact = passed(of_family(kind, whole=False))
    models = [of_family(kind, whole=whole) for whole in (False, True)]
    for model in models:
        stay_in_half_precision(model)
    theirs, ours = (distance(passed(model, half=True), exact) for model in models)
    assert 1e-3 < ours < 3 * theirs


def test_a_fast_path_that_is_not_exact_is_undone_with_a_note(
    tiny_bert: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    model = EncoderWithHead(backbone, cat_task().head(backbone))
    monkeypatch.setattr(whole_layer, "gelu", torch.relu)
    notes = fast_paths.take_fast_paths(model, device=torch.device("cpu"))
    assert notes == ["the fast path for whole layers is not exact in type 'bert': not taken"]
    counted.clear()
    passed(backbone.encoder)
    assert counted == []


def test_a_model_with_it_can_be_pickled(tiny_bert: Path, counted: list[int]) -> None:
    model = encoder(tiny_bert, whole=True)
    again = pickle.loads(pickle.dumps(model))
    assert torch.equal(passed(again)[0], passed(model)[0])
    assert len(counted) == 2 * SIZES["num_hidden_layers"]
