"""Fast paths are taken where they are exact: one padded row goes through both, and the encoder's type is refused where
it cannot be computed at all.

Encoders that are built like BERT by the names of their layers need not compute the same: those that normalise before
attention lost their last LayerNorm to the fast path for the first token.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from finetune.errors import THEIRS
from finetune.models.families import has_own_class
from finetune.models.kernels import cpu, cuda
from finetune.models.kernels.first_token import last_layer_for_first_token
from finetune.models.kernels.whole_layer import take_whole_layers
from finetune.models.model import EncoderWithHead
from finetune.models.trial import LENGTHS, last_layer, or_refused, refusal, tried

MOST_DIFFERENCE = 1e-4  # of a vector's largest number, or of 1
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def take_fast_paths(model: EncoderWithHead, *, device: torch.device, precision: str) -> list[str]:
    """Replaces layers of a model by exact faster ones; returns notes on those left as they are.

    Raises UserError for an encoder that gives no vector a token, or fails in this precision. No random state changes.
    """
    backbone, notes = model.backbone, list[str]()
    encoder = backbone.encoder
    sparse = _sparse_when_long(model)
    with or_refused(model):
        plain = tried(model)
        if not has_own_class(encoder.config):
            notes += _of_other_tokens(model)
    every_token = backbone.bilstm or backbone.left_to_right or backbone.vector != "cls"
    if model.pooled and not sparse and not every_token:
        notes += _undone_unless_exact(model, plain, last_layer_for_first_token(encoder), "the first token")
    if device.type == "cuda":
        cuda.wait_for_nothing(encoder)
    if device.type == "cpu":
        cpu.speed_up(model, encoder)
        notes += _undone_unless_exact(model, plain, take_whole_layers(encoder), "whole layers")
    if precision in HALF and not has_own_class(encoder.config):
        with or_refused(model, precision), torch.autocast("cpu", HALF[precision]):
            tried(model)
    return notes


def _of_other_tokens(model: EncoderWithHead) -> list[str]:
    """Notes on what a vector takes from padding, from then on nothing; raises UserError where it takes nothing from
    the text's other tokens, as where transformers computes attention by a kernel for GPUs alone.
    """
    kind, plain = model.backbone.config.model_type, last_layer(model)
    if torch.equal(plain[-1, 0], last_layer(model, last=1)[-1, 0]):
        raise refusal(model, "transformers has no code for their attention here, and without it no token reads another")
    if _close(last_layer(model, rows=1)[0], plain[0, : LENGTHS[0]]):
        return []
    model.backbone.padded_up_to = 0
    return [f"encoders of type '{kind}' read padding, too: each text is encoded with those of its own length alone"]


def _undone_unless_exact(
    model: EncoderWithHead, plain: Tensor, undo: Callable[[], object] | None, what: str
) -> list[str]:
    """Keeps a fast path where it gives the same vectors; else a note. `undo` is None where there was none to take."""
    if undo is None or _agrees(model, plain):
        return []
    undo()
    return [f"the fast path for {what} is not exact in type '{model.backbone.config.model_type}': not taken"]


def _sparse_when_long(model: EncoderWithHead) -> bool:
    """Whether an encoder reads long texts by sparse attention, as BigBird does, and then by the length of each alone.

    Where its blocks are depends on padding; and after its first short text transformers' class would stay with full
    attention.
    """
    encoder, config = model.backbone.encoder, model.backbone.config
    if getattr(config, "attention_type", "") != "block_sparse":
        return False
    model.backbone.padded_up_to = (5 + 2 * config.num_random_blocks) * config.block_size  # as in its forward
    encoder.register_forward_pre_hook(partial(_set_attention, above=model.backbone.padded_up_to), with_kwargs=True)
    return True


def _set_attention(encoder: Any, _: tuple[Any, ...], given: dict[str, Any], *, above: int) -> None:
    """Changes to the attention for a batch's length, without new weights, which would be drawn."""
    with torch.device("meta"):
        encoder.set_attention_type("block_sparse" if given["input_ids"].shape[1] > above else "original_full")


def _agrees(model: EncoderWithHead, plain: Tensor) -> bool:
    try:
        return _close(tried(model), plain)
    except THEIRS:
        raise
    except Exception:  # a layer that is called with other arguments than BERT's
        return False


def _close(found: Tensor, plain: Tensor) -> bool:
    return bool((found - plain).abs().max() <= MOST_DIFFERENCE * max(1.0, float(plain.abs().max())))
