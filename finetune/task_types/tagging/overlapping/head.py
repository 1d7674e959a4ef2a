"""A logit for each pair of start and end, and each type, from the sequence output."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.models.families import TOKEN, head_dropout
from finetune.models.feature import IGNORED
from finetune.models.head import Head
from finetune.task_types.tagging.overlapping.encoding import CODE, COUNTED, IS_WORD, WORD
from finetune.task_types.tagging.overlapping.pairs import KEYS, angles

RARE = -2.0  # the bias of a start and of an end: a new head finds a span in 2 % of the pairs (Lin et al. 2017, 4.1)


class OverlapHead(Head):
    """Dropout and one linear layer on the vector of each word's first sub-token, whose outputs score pairs of words.

    The logit of a span of a type is that of its first word as a start of the type, plus that of its last word as an end
    of it, plus the product of a vector of the first word and one of the last (`KEYS` numbers each, rotated by position,
    over the root of `KEYS`): the biaffine model of Yu et al. 2020 (Named Entity Recognition as Dependency Parsing) in
    the form of Su et al. 2022 (Global Pointer, section 3.3), where the product is shared by all types. Only spans of up
    to `longest` words are scored.
    """

    inputs = frozenset({"sequence"})
    reads = "words"
    auto_class = "AutoModelForTokenClassification"

    def __init__(self, backbone: Backbone, types: Sequence[str], longest: int) -> None:
        sides = [f"{side} of {name}" for side in ("start", "end") for name in types]
        super().__init__((*sides, *(f"{side} {number}" for side in ("start", "end") for number in range(KEYS))))
        self.types, self.longest = len(types), longest
        self.has_class = False  # a pipeline of transformers would take the outputs for tags
        self.dropout = nn.Dropout(head_dropout(backbone.config, TOKEN.dropout))
        self.output = nn.Linear(backbone.width, len(self.labels))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Binary cross-entropy of each type and length, summed over the owned words of `labels` `(batch, n, 3)`, by
        whose number the trainer divides.
        """
        scores, targets, counted = self._pairs(logits, labels)
        losses = functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")
        return losses.where(counted, 0.0).sum()

    def _pairs(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The scores of pairs, whether they are spans `(batch, words, longest, types)`, and whether they are counted:
        those of an owned first word and a last word that is there, `(batch, words, longest, 1)`.
        """
        batch, words = logits.shape[:2]
        longest = min(self.longest, words)
        scores = self.pair_scores(logits, longest)
        real = functional.pad(labels[:, :words, WORD] == IS_WORD, (0, longest - 1)).unfold(1, longest, 1)
        owned = labels[:, :words, COUNTED] != IGNORED
        places, codes = labels[..., WORD].long(), labels[..., CODE].long()
        there = (places >= 0) & (codes < longest * self.types)
        targets = scores.new_zeros(batch, scores[0].numel())
        cells = (places * longest * self.types + codes).where(there, 0)
        targets.scatter_add_(1, cells, there.to(scores.dtype))
        return scores, targets.clamp(max=1).view_as(scores), (owned.unsqueeze(-1) & real).unsqueeze(-1)

    def pair_scores(self, logits: Tensor, longest: int) -> Tensor:
        """`(batch, words, longest, types)` from `(batch, words, 2 * types + 2 * KEYS)`; what is beyond the last word is
        scored as a word of zeros.
        """
        begin, end, start_keys, end_keys = torch.split(logits.float(), [self.types, self.types, KEYS, KEYS], dim=-1)
        turns = torch.from_numpy(angles(logits.shape[1])).to(begin)
        pairs = torch.einsum("bwk,bwkl->bwl", _rotated(start_keys, turns), _behind(_rotated(end_keys, turns), longest))
        ends = _behind(end, longest).transpose(2, 3)
        found: Tensor = begin.unsqueeze(2) + ends + pairs.unsqueeze(-1) / KEYS**0.5
        return found

    def initialise(self) -> None:
        """As for every head; the biases of starts and ends say that spans are rare."""
        super().initialise()
        with torch.no_grad():
            self.output.bias[: 2 * self.types] = RARE


def _behind(vectors: Tensor, longest: int) -> Tensor:
    """For each word its vector and those of the words behind it, `(batch, words, width, longest)`: a view."""
    return nn.functional.pad(vectors, (0, 0, 0, longest - 1)).unfold(1, longest, 1)


def _rotated(vectors: Tensor, turns: Tensor) -> Tensor:
    """Vectors `(batch, words, KEYS)`, each rotated by the position of its word."""
    first, second = vectors.chunk(2, dim=-1)
    sin, cos = turns.sin(), turns.cos()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
