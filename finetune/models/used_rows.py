"""Trains the rows of the word embeddings that a run's texts use; the others cost nothing until training ends.

A row that no text uses has no gradient, so no moments either: all that moves it is weight decay, which multiplies it by
a number at each update. The optimizer multiplies one more row by the same numbers, which is all ones at first and which
no token has: it is the product of them all.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from finetune.models.families import has_own_class
from finetune.models.feature import Feature
from finetune.models.feature_arrays import used_tokens
from finetune.models.model import EncoderWithHead

LEAST_SAVED = 1_000_000  # weights in unused rows, an update of which takes about 1 ms


@contextmanager
def used_rows_alone(model: EncoderWithHead, features: Sequence[Feature], *, pad_id: int) -> Iterator[None]:
    """Within it the word embeddings of a model are `UsedRows` of what it learns from, if that saves enough.

    Afterwards all rows are as if they had been trained, except for rounding. Words that are predicted need all rows.
    """
    encoder = model.backbone.encoder
    words = encoder.get_input_embeddings()
    if model.head.pretrains or not has_own_class(encoder.config) or not _is_plain(words, model):
        yield
        return
    used = used_tokens(features, count=words.num_embeddings)
    used[[each for each in (pad_id, words.padding_idx, encoder.config.pad_token_id) if each is not None]] = True
    if np.count_nonzero(~used) * words.embedding_dim < LEAST_SAVED:
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
    """Whether these are trained embeddings of torch, whose weights no other part of the model has."""
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
