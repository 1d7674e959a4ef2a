"""The sums and masks that `finetune view` shows are those of transformers, in every family."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from finetune.commands.view.encoder import loaded_encoder
from finetune.commands.view.look import encode_text
from finetune.commands.view.masks import masked_batch, under_masks
from finetune.commands.view.stream import residual_stream
from finetune.models.families import FAMILIES

PAIR = ["the cat sat on the road", "a dog ran"]
OWN_ATTENTION = {"roformer", "deberta", "deberta-v2", "longformer", "mpnet", "rembert", "big_bird"}
PRE_NORM = {"roberta-prelayernorm", "modernbert", "eurobert"}
ATTENTION = ("attention.output.dense", "attention.dense", "attention.out_lin", "attn.Wo", "self_attn.o_proj",
             "attention.attn.o", "attention.o_proj", "attn.out_proj", "attn.o_proj")  # fmt: skip
FEED_FORWARD = (".output.dense", "ffn_output", "ffn.lin2", "mlp.Wo", "mlp.down_proj", "mlp.fc2")


def load(folder: Path, **settings: Any) -> Any:
    return transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", **settings).eval()


@contextmanager
def outputs_of(model: nn.Module, endings: tuple[str, ...], *, but: tuple[str, ...] = ()) -> Iterator[list[np.ndarray]]:
    """What the linear layers of these names give, in the order in which they are called."""
    found: list[np.ndarray] = []
    hooks = [
        part.register_forward_hook(lambda _module, _given, output: found.append(output[0].detach().numpy()))
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and name.endswith(endings) and not (but and name.endswith(but))
    ]
    yield found
    for hook in hooks:
        hook.remove()


def test_the_sums_are_those_of_transformers(tiny_encoder: Path) -> None:
    """Each added vector is what the last matrix of its sub-layer gives, and input and output are the hidden states."""
    model = load(tiny_encoder)
    encoder = loaded_encoder(str(tiny_encoder), out=Path("results"))
    inputs = encode_text(encoder, PAIR)
    stream = residual_stream(encoder.model, inputs)
    assert stream is not None
    assert stream.norm_first == (model.config.model_type in PRE_NORM)
    at = {name: stream.vectors[:, index] for index, name in enumerate(stream.stages)}
    tokens = inputs["input_ids"].shape[1]
    with (
        torch.no_grad(),
        outputs_of(model, ATTENTION) as attended,
        outputs_of(model, FEED_FORWARD, but=ATTENTION) as fed,
    ):
        states = model(**inputs, output_hidden_states=True).hidden_states
    hidden = np.stack([state[0].numpy() for state in states])
    assert np.abs(at["input"] - hidden[:-1]).max() < 1e-5
    last = len(hidden) - 2 if stream.norm_first else len(hidden) - 1  # whose last hidden state has one LayerNorm more
    assert np.abs(at["output"][:last] - hidden[1 : last + 1]).max() < 1e-5
    assert len(attended) == len(fed) == len(at["input"])
    assert np.abs(at["attention"] - np.stack(attended)[:, :tokens]).max() < 1e-5
    assert np.abs(at["feed_forward"] - np.stack(fed)[:, :tokens]).max() < 1e-5
    assert np.abs(at["input"] + at["attention"] - at["attention_sum"]).max() < 1e-5
    if stream.norm_first:
        assert np.abs(at["attention_sum"] + at["feed_forward"] - at["output"]).max() < 1e-5
    else:
        assert np.abs(at["attention_norm"] + at["feed_forward"] - at["feed_forward_sum"]).max() < 1e-5


def test_layer_norm_is_that_of_the_encoder(tiny_bert: Path) -> None:
    encoder = loaded_encoder(str(tiny_bert), out=Path("results"))
    stream = residual_stream(encoder.model, encode_text(encoder, PAIR))
    assert stream is not None
    at = {name: torch.tensor(stream.vectors[:, index]) for index, name in enumerate(stream.stages)}
    for layer, part in enumerate(load(tiny_bert).encoder.layer):
        for norm, given, output in (
            (part.attention.output.LayerNorm, "attention_sum", "attention_norm"),
            (part.output.LayerNorm, "feed_forward_sum", "output"),
        ):
            assert (norm(at[given][layer]) - at[output][layer]).abs().max() < 1e-5


def test_layers_of_another_form_are_not_shown(tiny_bert: Path) -> None:
    encoder = loaded_encoder(str(tiny_bert), out=Path("results"))
    encoder.model.encoder.layer[1].output.LayerNorm = nn.Identity()
    assert residual_stream(encoder.model, encode_text(encoder, PAIR)) is None


def test_masks_are_those_of_transformers(tiny_encoder: Path) -> None:
    """The padding mask is that of `attention_mask`, the causal one that of `is_decoder`."""
    encoder = loaded_encoder(str(tiny_encoder), out=Path("results"))
    inputs, real = masked_batch(encoder.model, encoder.tokenizer, PAIR)
    assert real.sum(1).tolist() == sorted(real.sum(1).tolist(), reverse=True)
    assert not real.all()
    found = under_masks(encoder.model, inputs, real, [])
    kind = encoder.model.config.model_type
    assert (found is None) == (kind in OWN_ATTENTION)
    if found is None:
        return
    weights = dict(zip(found.kinds, found.weights, strict=True))
    theirs = {"padding": load(tiny_encoder)}
    if kind in FAMILIES and FAMILIES[kind].left_to_right:
        theirs["both"] = load(tiny_encoder, is_decoder=True)
    for name, model in theirs.items():
        with torch.no_grad():
            asked = model(**(inputs | {"attention_mask": real.long()}), output_attentions=True)
        expected = torch.stack(asked.attentions).mean(2).numpy()
        text = real.numpy()[None, :, :, None]
        assert np.abs((weights[name] - expected) * text).max() < 1e-5, name
    assert found.batch_difference < 1e-4
    later = np.triu(np.ones(real.shape[1:] * 2), 1).astype(bool)
    assert weights["causal"][..., later].max() == 0
    assert weights["none"][..., later].max() > 0
    shares = dict(zip(found.kinds, found.on_padding, strict=True))
    assert shares["padding"].max() == 0 < shares["none"][:, 1].min()


@pytest.mark.parametrize(
    "texts", [["the cat sat on the road"], ["a dog ran", "a cat sat"], ["it rained."], ["눈이 왔다."]]
)
def test_a_batch_always_has_padding(texts: list[str], tiny_bert: Path) -> None:
    encoder = loaded_encoder(str(tiny_bert), out=Path("results"))
    inputs, real = masked_batch(encoder.model, encoder.tokenizer, texts)
    assert len(real) == len(texts) + 1
    assert 0 < (~real).sum() < real.numel()
    assert inputs["attention_mask"].all()


def test_what_masks_change(minilm: Path) -> None:
    """The padding mask changes nothing in a text; without it, and with the causal mask, vectors are others."""
    encoder = loaded_encoder(str(minilm), out=Path("results"))
    inputs, real = masked_batch(encoder.model, encoder.tokenizer, ["The ferry left the bank of the river."])
    found = under_masks(encoder.model, inputs, real, [])
    assert found is not None
    cosines = dict(zip(found.kinds, found.cosines[:, -1], strict=True))
    assert cosines["padding"][real.numpy()].min() > 0.9999
    assert cosines["none"][1, : int(real[1].sum())].max() < 0.99
    assert cosines["causal"][0, 0] < 0.9
