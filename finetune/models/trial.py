"""A trial of an encoder on two short rows before it is trained: what it cannot compute is refused by name, and weights
that no text reaches are frozen.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.batch import Batch
from finetune.models.device import is_out_of_memory
from finetune.models.families import has_own_class, takes_segments
from finetune.models.model import EncoderWithHead

OTHER_TYPE = "Choose an encoder of another type, such as bert"
LENGTHS = (4, 6)  # tokens of the two rows that are tried, of which the shorter is padded


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
