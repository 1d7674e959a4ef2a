"""Fast paths are taken where they are exact: one padded row goes through both, and the encoder's type is refused where
it cannot be computed at all.

Encoders that are built like BERT by the names of their layers need not compute the same: those that normalise before
attention lost their last LayerNorm to the fast path for the first token.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from finetune.errors import THEIRS, UserError, first_line
from finetune.models.device import is_out_of_memory
from finetune.models.families import has_own_class, takes_segments
from finetune.models.kernels import cpu
from finetune.models.kernels.first_token import last_layer_for_first_token
from finetune.models.model import EncoderWithHead

LENGTHS = (4, 6)  # tokens of the two rows that are tried, of which the shorter is padded
MOST_DIFFERENCE = 1e-4  # of a vector's largest number, or of 1
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def take_fast_paths(model: EncoderWithHead, *, device: torch.device, precision: str) -> list[str]:
    """Replaces layers of a model by exact faster ones; returns notes on those left as they are.

    Raises UserError for an encoder that gives no vector a token, or fails in this precision. No random state changes.
    """
    backbone, notes = model.backbone, list[str]()
    encoder = backbone.encoder
    with _refused(model):
        plain = _tried(model)
        if not has_own_class(encoder.config) and not _close(_tried(model, rows=1)[0], plain[0, : LENGTHS[0]]):
            notes.append(f"vectors of type '{encoder.config.model_type}' depend on how far their batch is padded")
    if model.pooled and not backbone.bilstm and not backbone.left_to_right and backbone.vector != "mean":
        undo = last_layer_for_first_token(encoder)
        if undo is not None and not _agrees(model, plain):
            undo()
            notes.append(
                f"the fast path for the first token is not exact in type '{encoder.config.model_type}': not taken"
            )
    if device.type == "cpu":
        cpu.speed_up(model, encoder)
    if precision in HALF and not has_own_class(encoder.config):
        with _refused(model, precision), torch.autocast("cpu", HALF[precision]):
            _tried(model)
    return notes


def _agrees(model: EncoderWithHead, plain: Tensor) -> bool:
    try:
        return _close(_tried(model), plain)
    except THEIRS:
        raise
    except Exception:  # a layer that is called with other arguments than BERT's
        return False


def _close(found: Tensor, plain: Tensor) -> bool:
    return bool((found - plain).abs().max() <= MOST_DIFFERENCE * max(1.0, float(plain.abs().max())))


@torch.no_grad()
def _tried(model: EncoderWithHead, *, rows: int = len(LENGTHS)) -> Tensor:
    """What a head reads of the rows that are tried: `(rows, 1 or most tokens, layers, width)`."""
    backbone, lengths = model.backbone, torch.tensor(LENGTHS[:rows])
    config, longest = backbone.config, int(lengths.max())
    mask = (torch.arange(longest) < lengths.unsqueeze(1)).long()
    padding = config.pad_token_id or 0
    ids = torch.arange(mask.numel()).view_as(mask) % (config.vocab_size - 1)
    ids = torch.where(mask > 0, ids + (ids >= padding), padding)
    segments = torch.zeros_like(ids) if takes_segments(config) else None
    was, pooled = backbone.encoder.training, model.pooled
    backbone.encoder.eval()
    try:
        states, _ = backbone.hidden_states(
            backbone.layer_indices(pooled=pooled), pooled=pooled, positions=None, input_ids=ids, attention_mask=mask,
            token_type_ids=segments,
        )  # fmt: skip
    finally:
        backbone.encoder.train(was)
    if (
        states.shape[:2] != (rows, 1 if pooled and not backbone.bilstm else longest)
        or states.shape[-1] != config.hidden_size
    ):
        raise ValueError(f"its output is {tuple(states.shape)}")
    return states


@contextmanager
def _refused(model: EncoderWithHead, precision: str = "") -> Iterator[None]:
    """Turns an error of an encoder without a row in `families` into a UserError that names its type."""
    kind = model.backbone.config.model_type
    try:
        yield
    except Exception as error:  # such an encoder may fail in any way
        memory = isinstance(error, THEIRS) or (isinstance(error, RuntimeError) and is_out_of_memory(error))
        if isinstance(error, UserError) or memory or has_own_class(model.backbone.config):
            raise
        how = f"in {precision} " if precision else ""
        remedy = "Set train.precision=fp32" if precision else "Choose an encoder of another type, such as bert"
        raise UserError(f"encoders of type '{kind}' cannot be used {how}({first_line(error)})", remedy) from error
