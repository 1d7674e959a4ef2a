"""Fast paths, each tried on two short rows and undone if it is not exact; and word embeddings of the used tokens alone.

Encoders with BERT's names of layers need not compute the same: those that normalise before attention lost their last
LayerNorm to the fast path for the first token.

A row of the word embeddings that no text uses has no gradient and no moments: only weight decay changes it, by a factor
at each update. So an update leaves these rows out, and trains one more row, all ones at first, that no token has: it
becomes the product of the factors, by which all unused rows are multiplied at the end.
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

LENGTHS = (4, 6)  # tokens of the two rows that are tried; the shorter one is padded
MOST_DIFFERENCE = 1e-4  # of the largest number of all vectors, or of 1
LEAST_SAVED = 1_000_000  # weights in unused rows: an update of them takes about 1 ms


def take_fast_paths(model: EncoderWithHead, *, device: torch.device) -> list[str]:
    """Replaces layers of a model by faster ones where they compute the same; else returns notes.

    Random states do not change.
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
    """Freezes the encoder's weights that the head does not depend on, such as of layers above the last that it reads.

    Weights without a gradient make distributed training fail, and would be counted as trained.
    """
    with _evaluated(model.backbone.encoder), torch.enable_grad():
        head_inputs = model.hidden(_trial_batch(model))
    reached, visited = set[Tensor](), set[Any]()
    nodes: list[Any] = [states.grad_fn for states in head_inputs]  # of autograd's graph; no gradient is computed
    while nodes:
        node = nodes.pop()
        if node is not None and node not in visited:
            visited.add(node)
            reached |= {node.variable} if hasattr(node, "variable") else set()
            nodes += [function for function, _ in node.next_functions]
    for parameter in model.backbone.encoder.parameters():
        parameter.requires_grad_(parameter.requires_grad and parameter in reached)


@torch.no_grad()
def _vectors(model: EncoderWithHead) -> Tensor:
    """The head's input for the trial batch, `(rows, n, layers, width)`; n is 1, or the length."""
    backbone, batch = model.backbone, _trial_batch(model)
    with _evaluated(backbone.encoder):
        layers = backbone.layer_indices(pooled=model.pooled)
        return backbone.hidden_states(layers, pooled=model.pooled, **batch.for_encoder())[0]


def _trial_batch(model: EncoderWithHead) -> Batch:
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
    """Undoes a fast path that gives other vectors than `plain`, with a note; `undo` is None if none was taken."""
    if undo is None:
        return []
    try:
        if (_vectors(model) - plain).abs().max() <= MOST_DIFFERENCE * max(1.0, float(plain.abs().max())):
            return []
    except THEIRS:
        raise
    except Exception:  # a layer that takes other arguments than BERT's
        pass
    undo()
    return [f"the fast path for {what} is not exact in type '{model.backbone.config.model_type}': not taken"]


def _sparse_when_long(model: EncoderWithHead) -> bool:
    """Whether an encoder attends to long texts by blocks (BigBird), which are then encoded without padding.

    Padding would move its blocks; and transformers' class stays with full attention after its first short text, so it
    is set for each batch.
    """
    encoder, config = model.backbone.encoder, model.backbone.config
    if getattr(config, "attention_type", "") != "block_sparse":
        return False
    model.backbone.padded_up_to = (5 + 2 * config.num_random_blocks) * config.block_size  # as in its forward
    encoder.register_forward_pre_hook(partial(_set_attention, above=model.backbone.padded_up_to), with_kwargs=True)
    return True


def _set_attention(encoder: Any, _: tuple[Any, ...], named: dict[str, Any], *, above: int) -> None:
    with torch.device("meta"):  # transformers makes new layers and copies the weights; nothing is to be drawn
        encoder.set_attention_type("block_sparse" if named["input_ids"].shape[1] > above else "original_full")


@contextmanager
def used_rows_alone(model: EncoderWithHead, features: Sequence[Feature], *, pad_id: int) -> Iterator[None]:
    """Within it the word embeddings of a model have the rows of the features' tokens alone, if that saves enough.

    Afterwards all rows are as if they had been trained, except for rounding. To predict words takes all rows.
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
    """Embeddings whose trained parameter has the rows of the `used` token ids, and a last one for weight decay.

    All rows before training, and the index of each token among the used ones (-1: unused), are frozen parameters:
    neither checkpoints nor processes exchange them.
    """

    def __init__(self, words: nn.Embedding, used: np.ndarray) -> None:
        super().__init__()
        self.all_rows = words.weight.requires_grad_(False)
        self.used = torch.from_numpy(used)
        indices = torch.full((words.num_embeddings,), -1)
        indices[self.used] = torch.arange(len(used))
        self.indices = nn.Parameter(indices.to(self.all_rows.device), requires_grad=False)
        decay = torch.ones_like(self.all_rows[:1])
        self.rows = nn.Parameter(torch.cat([self.all_rows.detach()[self.used], decay]))
        padding = words.padding_idx
        self.padding = None if padding is None or indices[padding] < 0 else int(indices[padding])

    def forward(self, ids: Tensor) -> Tensor:
        """Ids `(...)` to vectors `(..., width)`. In training an unused id is an error: torch raises IndexError."""
        indices = self.indices[ids]
        if self.training:
            return embedding(indices, self.rows, self.padding)
        unused = indices < 0
        vectors = embedding(indices.where(~unused, len(self.used)), self.rows)
        vectors[unused] *= self.all_rows[ids[unused]]
        return vectors

    @torch.no_grad()
    def give_back(self) -> None:
        """Writes all rows, trained or decayed, to the original embeddings."""
        self.all_rows *= self.rows[-1]
        self.all_rows[self.used] = self.rows[:-1]
        self.all_rows.requires_grad_(True)
