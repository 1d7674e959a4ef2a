"""What a token may see in a batch: the padding mask, the causal mask of a decoder, and what each of them changes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from finetune.commands.view.parts import Masks
from finetune.commands.view.recording import Call, recorded, spread_layers
from finetune.commands.view.sentences import HANGUL
from finetune.models.families import takes_segments

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_MASKED = 150_000  # weights under masks on a page
KINDS = ("none", "padding", "causal", "both")
SHORT, LONGER = {"en": "It rained.", "ko": "비가 왔다."}, "The ferry left the bank of the river before it rained."


def masked_batch(
    model: PreTrainedModel, tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]
) -> tuple[dict[str, Tensor], Tensor]:
    """Texts of different length as a batch that shows every position, and which positions have a text.

    To a text alone, or to texts of one length, it adds one of ours.
    """
    short = SHORT["ko" if any(HANGUL.search(text) for text in texts) else "en"]
    options = {"return_tensors": "pt", "padding": True, "padding_side": "right", "verbose": False}
    for rows in ([*texts], [*texts, short], [*texts, LONGER]):
        encoded = tokenizer(rows, **options)
        real = encoded["attention_mask"].bool()
        if not real.all():
            break
    inputs = {"input_ids": encoded["input_ids"], "attention_mask": torch.ones_like(encoded["attention_mask"])}
    if takes_segments(model.config):
        inputs["token_type_ids"] = torch.zeros_like(encoded["input_ids"])
    return inputs, real


def seen_tokens(real: Tensor) -> dict[str, Tensor]:
    """For each kind of mask which tokens (last) a token sees: bool, `(rows, tokens, tokens)`."""
    everything = torch.ones(*real.shape, real.shape[1], dtype=torch.bool)
    padding = everything & real[:, None]
    return {"none": everything, "padding": padding, "causal": everything.tril(), "both": padding.tril()}


def under_masks(
    model: PreTrainedModel, inputs: dict[str, Tensor], real: Tensor, tokens: Sequence[Sequence[str]]
) -> Masks | None:
    """What masks do to the texts of a batch; None for a family whose attention cannot be recorded."""
    alone = [_alone(model, inputs, row, int(real[row].sum())) for row in range(len(real))]
    states, calls = {}, {}
    try:
        for kind, seen in seen_tokens(real).items():
            states[kind], calls[kind] = _forward(model, inputs, seen)
    except (ValueError, NotImplementedError):  # a family that has only its own attention
        return None
    layers = model.config.num_hidden_layers
    if any(len(found) != layers for found in calls.values()):
        return None
    chosen = spread_layers(layers, MOST_MASKED // (len(KINDS) * real.shape[0] * real.shape[1] ** 2))
    return Masks(
        tokens=tokens,
        layers=[index + 1 for index in chosen],
        real=real.numpy(),
        kinds=KINDS,
        weights=np.stack([_mean_of_heads(calls[kind], chosen) for kind in KINDS]),
        cosines=np.stack([_cosines(states[kind], alone, chosen) for kind in KINDS]),
        on_padding=np.stack([_on_padding(calls[kind], real) for kind in KINDS]),
        batch_difference=max(
            float((states["padding"][-1, row, : own.shape[1]] - own[-1]).abs().max()) for row, own in enumerate(alone)
        ),
    )


def _forward(model: PreTrainedModel, inputs: dict[str, Tensor], seen: Tensor) -> tuple[Tensor, list[Call]]:
    """Hidden states `(layers + 1, rows, tokens, width)` where a token sees these, and the calls of the layers."""
    with recorded(model, seen) as calls, torch.inference_mode():
        return torch.stack(model(**inputs, output_hidden_states=True).hidden_states), calls


def _alone(model: PreTrainedModel, inputs: dict[str, Tensor], row: int, length: int) -> Tensor:
    """Hidden states of a row without padding, `(layers + 1, tokens, width)`."""
    with torch.inference_mode():
        own: Any = model(
            **{name: part[row : row + 1, :length] for name, part in inputs.items()}, output_hidden_states=True
        )
    return torch.cat(own.hidden_states)


def _mean_of_heads(calls: Sequence[Call], chosen: Sequence[int]) -> np.ndarray:
    """Weights in these layers, `(layers, rows, tokens, tokens)`."""
    return torch.stack([calls[index].weights.mean(1) for index in chosen]).numpy()


def _cosines(states: Tensor, alone: Sequence[Tensor], chosen: Sequence[int]) -> np.ndarray:
    """Of each token's vector with that of its text alone: `(layers, rows, tokens)`, 0 for padding."""
    found = np.zeros((len(chosen), *states.shape[1:3]), dtype=np.float32)
    for row, own in enumerate(alone):
        for place, index in enumerate(chosen):
            same = torch.cosine_similarity(states[index + 1, row, : own.shape[1]], own[index + 1], dim=-1)
            found[place, row, : own.shape[1]] = same.numpy()
    return found


def _on_padding(calls: Sequence[Call], real: Tensor) -> np.ndarray:
    """The share of the attention of a text's tokens on padding, `(layers, rows)`."""
    hidden = (~real)[:, None, None].float()
    shares = torch.stack([(call.weights * hidden).sum(-1).mean(1) for call in calls])  # layers, rows, tokens
    return ((shares * real).sum(-1) / real.sum(-1)).numpy()
