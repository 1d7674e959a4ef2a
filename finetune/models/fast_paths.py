"""Fast paths, taken where they are exact, and only the rows of the word embeddings that a run uses.

Two short rows go through both ways. Encoders that are built like BERT by the names of their layers need not compute the
same: those that normalise before attention lost their last LayerNorm to the fast path for the first token.

A row of the word embeddings that no text uses has no gradient, so no moments either: all that moves it is weight decay,
which multiplies it by a number at each update. The optimizer multiplies one more row by the same numbers, which is all
ones at first and which no token has: it is the product of them all.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from finetune.errors import THEIRS
from finetune.models.batch import Batch
from finetune.models.families import takes_segments
from finetune.models.feature import Feature, used_tokens
from finetune.models.head import EncoderWithHead
from finetune.models.kernels import cpu
from finetune.models.kernels.attention import ON_CUDA, register_attention
from finetune.models.kernels.layers import last_layer_for_first_token, take_whole_layers

LENGTHS = (4, 6)  # tokens of the two rows that are tried, of which the shorter is padded
MOST_DIFFERENCE = 1e-4  # of a vector's largest number, or of 1
LEAST_SAVED = 1_000_000  # weights in unused rows, an update of which takes about 1 ms


def take_fast_paths(model: EncoderWithHead, *, device: torch.device) -> list[str]:
    """Replaces layers of a model by exact faster ones; returns notes on those left as they are.

    No random state changes.
    """
    backbone, notes = model.backbone, list[str]()
    encoder = backbone.encoder
    sparse, plain = _sparse_when_long(model), _vectors(model)
    every_token = backbone.bilstm or backbone.left_to_right or backbone.vector != "cls"
    if model.pooled and not sparse and not every_token:
        notes += _undone_unless_exact(model, plain, last_layer_for_first_token(encoder), "the first token")
    if device.type == "cuda" and getattr(encoder.config, "_attn_implementation", "") == "sdpa":
        register_attention()
        encoder.set_attn_implementation(ON_CUDA)
    if device.type == "cpu":
        cpu.speed_up(model, encoder)
        notes += _undone_unless_exact(model, plain, take_whole_layers(encoder), "whole layers")
    return notes


def freeze_unreached(model: EncoderWithHead) -> None:
    """Freezes the encoder's weights that do not change what a head reads, such as layers above those that are read:
    weights without a gradient make distributed training fail, and would be counted as trained.
    """
    with _evaluated(model.backbone.encoder), torch.enable_grad():
        read = model.hidden(_tried_batch(model))
    reached, seen = set[Tensor](), set[Any]()
    waiting: list[Any] = [states.grad_fn for states in read]  # the graph; no gradient is computed
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            reached |= {node.variable} if hasattr(node, "variable") else set()
            waiting += [after for after, _ in node.next_functions]
    for parameter in model.backbone.encoder.parameters():
        parameter.requires_grad_(parameter.requires_grad and parameter in reached)


@torch.no_grad()
def _vectors(model: EncoderWithHead) -> Tensor:
    """What a head reads of the rows that are tried, `(rows, 1 or most tokens, layers, width)`."""
    backbone, batch = model.backbone, _tried_batch(model)
    with _evaluated(backbone.encoder):
        layers = backbone.layer_indices(pooled=model.pooled)
        return backbone.hidden_states(layers, pooled=model.pooled, **batch.for_encoder())[0]


def _tried_batch(model: EncoderWithHead) -> Batch:
    """The rows that are tried, padded to the longest of them."""
    config, lengths = model.backbone.config, torch.tensor(LENGTHS)
    mask = (torch.arange(max(LENGTHS)) < lengths.unsqueeze(1)).long()
    padding = config.pad_token_id or 0
    ids = torch.arange(mask.numel()).view_as(mask) % (config.vocab_size - 1)
    ids = torch.where(mask > 0, ids + (ids >= padding), padding)
    return Batch(ids, mask, torch.zeros_like(ids) if takes_segments(config) else None)


@contextmanager
def _evaluated(module: nn.Module) -> Iterator[None]:
    was = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was)


def _undone_unless_exact(
    model: EncoderWithHead, plain: Tensor, undo: Callable[[], object] | None, what: str
) -> list[str]:
    """Keeps a fast path where it gives the same vectors; else a note. `undo` is None where there was none to take."""
    if undo is None:
        return []
    try:
        exact = _close(_vectors(model), plain)
    except THEIRS:
        raise
    except Exception:  # a layer that is called with other arguments than BERT's
        exact = False
    if exact:
        return []
    undo()
    return [f"the fast path for {what} is not exact in type '{model.backbone.config.model_type}': not taken"]


def _close(vectors: Tensor, plain: Tensor) -> bool:
    return bool((vectors - plain).abs().max() <= MOST_DIFFERENCE * max(1.0, float(plain.abs().max())))


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


def _set_attention(encoder: Any, _: tuple[Any, ...], named: dict[str, Any], *, above: int) -> None:
    """Changes to the attention for a batch's length, without new weights, which would be drawn."""
    with torch.device("meta"):
        encoder.set_attention_type("block_sparse" if named["input_ids"].shape[1] > above else "original_full")


@contextmanager
def used_rows_alone(model: EncoderWithHead, features: Sequence[Feature], *, pad_id: int) -> Iterator[None]:
    """Within it the word embeddings of a model are `UsedRows` of what it learns from, if that saves enough.

    Afterwards all rows are as if they had been trained, except for rounding. Words that are predicted need all rows.
    """
    encoder = model.backbone.encoder
    words = encoder.get_input_embeddings()
    used = np.ones(1, dtype=bool)
    if not model.head.pretrains and _is_plain(words, model):
        used = used_tokens(features, count=words.num_embeddings)
        used[[i for i in (pad_id, words.padding_idx, encoder.config.pad_token_id) if i is not None]] = True
    if used.all() or np.count_nonzero(~used) * words.embedding_dim < LEAST_SAVED:
        yield
        return
    rows = UsedRows(words, np.flatnonzero(used))
    _replace(encoder, words, rows)
    try:
        yield
    finally:
        rows.give_back()
        _replace(encoder, rows, words)


def _is_plain(words: nn.Module, model: nn.Module) -> bool:
    if type(words) is not nn.Embedding or words.max_norm is not None or words.scale_grad_by_freq or words.sparse:
        return False
    owners = sum(p is words.weight for _, p in model.named_parameters(remove_duplicate=False))
    return words.weight.requires_grad and owners == 1


def _replace(encoder: nn.Module, old: nn.Module, new: nn.Module) -> None:
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if child is old:
                setattr(parent, name, new)


class UsedRows(nn.Module):
    """Embeddings whose parameter has the rows of some tokens, and a last one for weight decay.

    All rows, as they were, and the places of tokens among the used ones (-1: unused) are frozen parameters, which
    neither checkpoints nor processes exchange.
    """

    def __init__(self, words: nn.Embedding, used: np.ndarray) -> None:
        super().__init__()
        self.every = words.weight.requires_grad_(False)
        self.used = torch.from_numpy(used)
        places = torch.full((words.num_embeddings,), -1)
        places[self.used] = torch.arange(len(used))
        self.places = nn.Parameter(places.to(self.every.device), requires_grad=False)
        decay = torch.ones_like(self.every[:1])
        self.rows = nn.Parameter(torch.cat([self.every.detach()[self.used], decay]))
        padding = words.padding_idx
        self.padding = None if padding is None or places[padding] < 0 else int(places[padding])

    def forward(self, ids: Tensor) -> Tensor:
        """`(...)` ids to `(..., width)`. In training an unused one is an IndexError of torch: none is to be there."""
        places = self.places[ids]
        if self.training:
            return embedding(places, self.rows, self.padding)
        unused = places < 0
        vectors = embedding(places.where(~unused, len(self.used)), self.rows)
        vectors[unused] *= self.every[ids[unused]]
        return vectors

    @torch.no_grad()
    def give_back(self) -> None:
        """Writes all rows to the embeddings that these were made of."""
        self.every *= self.rows[-1]
        self.every[self.used] = self.rows[:-1]
        self.every.requires_grad_(True)
