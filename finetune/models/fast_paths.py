"""Fast paths are taken where they are exact: two short rows go through both, and the encoder's type is refused where it
cannot be computed at all; weights that no text reaches are frozen.

Encoders that are built like BERT by the names of their layers need not compute the same: those that normalise before
attention lost their last LayerNorm to the fast path for the first token.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.batch import Batch
from finetune.models.device import is_out_of_memory
from finetune.models.families import has_own_class, takes_segments
from finetune.models.kernels import cpu, cuda
from finetune.models.kernels.first_token import last_layer_for_first_token
from finetune.models.kernels.whole_layer import take_whole_layers
from finetune.models.model import EncoderWithHead

OTHER_TYPE = "Choose an encoder of another type, such as bert"
LENGTHS = (4, 6)  # tokens of the two rows that are tried, of which the shorter is padded
MOST_DIFFERENCE = 1e-4  # of a vector's largest number, or of 1
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


@contextmanager
def or_refused(model: EncoderWithHead, precision: str = "") -> Iterator[None]:
    """Turns an error of an encoder without a row in `families` into a UserError that names its type."""
    kind = model.backbone.config.model_type
    try:
        yield
    except Exception as error:  # such an encoder may fail in any way
        memory = isinstance(error, THEIRS) or (isinstance(error, RuntimeError) and is_out_of_memory(error))
        if isinstance(error, UserError) or memory or has_own_class(model.backbone.config):
            raise
        how = f"in {precision} " if precision else ""
        remedy = "Set train.precision=fp32" if precision else OTHER_TYPE
        raise UserError(f"encoders of type '{kind}' cannot be used {how}({first_line(error)})", remedy) from error


@torch.no_grad()
def tried(model: EncoderWithHead) -> Tensor:
    """What a head reads of the rows that are tried: `(rows, 1 or most tokens, layers, width)`.

    Raises UserError where these are not the vectors of an encoder.
    """
    backbone, batch = model.backbone, tried_batch(model)
    with _evaluated(backbone.encoder):
        states, _ = backbone.hidden_states(
            backbone.layer_indices(pooled=model.pooled), pooled=model.pooled, **batch.for_encoder()
        )
    wanted = 1 if model.pooled and not backbone.bilstm else batch.attention_mask.shape[1]
    if states.shape[1] != wanted:
        raise refusal(model, f"of {wanted} tokens they give {states.shape[1]} vectors")
    _require_width(model, states)
    return states


@torch.no_grad()
def last_layer(model: EncoderWithHead, *, rows: int = len(LENGTHS), last: int = 0) -> Tensor:
    """The last layer's vectors of rows that are tried, whatever a head reads: `(rows, most tokens, width)`.

    `last` is added to the id of the last token. Raises UserError where these are not the vectors of an encoder.
    """
    backbone, batch = model.backbone, tried_batch(model, rows=rows, last=last)
    with _evaluated(backbone.encoder):
        states, _ = backbone.hidden_states((backbone.config.num_hidden_layers,), pooled=False, **batch.for_encoder())
    _require_width(model, states)
    return states[:, :, 0]


def _require_width(model: EncoderWithHead, states: Tensor) -> None:
    """Raises UserError for vectors of another width than a head is made for, as Reformer's last layer has."""
    width = model.backbone.config.hidden_size
    if states.shape[-1] != width:
        raise refusal(model, f"their vectors are {states.shape[-1]} wide, not {width} as in their config")


def refusal(model: EncoderWithHead, reason: str) -> UserError:
    """The error for an encoder whose vectors cannot be used."""
    return UserError(f"encoders of type '{model.backbone.config.model_type}' cannot be used: {reason}", OTHER_TYPE)


def tried_batch(model: EncoderWithHead, *, rows: int = len(LENGTHS), last: int = 0) -> Batch:
    """The rows that are tried, padded to the longest of them."""
    config, lengths = model.backbone.config, torch.tensor(LENGTHS[:rows])
    longest = int(lengths.max())
    mask = (torch.arange(longest) < lengths.unsqueeze(1)).long()
    padding = config.pad_token_id or 0
    ids = torch.arange(mask.numel()).view_as(mask)
    ids[-1, -1] += last
    ids = ids % (config.vocab_size - 1)
    ids = torch.where(mask > 0, ids + (ids >= padding), padding)
    return Batch(ids, mask, torch.zeros_like(ids) if takes_segments(config) else None)


def freeze_unreached(model: EncoderWithHead) -> None:
    """Freezes the encoder's weights that do not change what a head reads.

    These are layers above those that are read, or LUKE's of entities: weights without a gradient make distributed
    training fail, and would be counted as trained.
    """
    with or_refused(model), _evaluated(model.backbone.encoder), torch.enable_grad():
        read = model.hidden(tried_batch(model))
    reached = _reached([states for states in read if states.grad_fn is not None])
    for parameter in model.backbone.encoder.parameters():
        parameter.requires_grad_(parameter.requires_grad and parameter in reached)


def _reached(outputs: list[Tensor]) -> set[Tensor]:
    """The parameters in the graph of some outputs; no gradient is computed, so it takes no memory."""
    found, seen = set[Tensor](), set()
    waiting = [output.grad_fn for output in outputs]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if (parameter := getattr(node, "variable", None)) is not None:
            found.add(parameter)
        waiting += [after for after, _ in node.next_functions]
    return found


@contextmanager
def _evaluated(module: nn.Module) -> Iterator[None]:
    """Within it a module is in evaluation mode, without dropout."""
    was = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was)


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
