"""A logit for each pair of a first and a last word, and each type, from the sequence output."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from finetune.models.backbone import Backbone
from finetune.models.families import TOKEN, head_dropout
from finetune.models.feature import IGNORED
from finetune.models.head import Head
from finetune.task_types.plugins.overlapping_pairs import IS_WORD, KEYS, angles, rotated

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
        sides = ("start", "end")
        names = [f"{side} of {name}" for side in sides for name in types]
        super().__init__((*names, *(f"{side} {number}" for side in sides for number in range(KEYS))))
        self.types, self.longest = len(types), longest
        self.has_class = False  # a pipeline of transformers would take the outputs for tags
        self.dropout = nn.Dropout(head_dropout(backbone.config, TOKEN.dropout))
        self.output = nn.Linear(backbone.width, len(self.labels))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Binary cross-entropy of each type and length, summed over the owned words of `labels` `(batch, n, 3)`, by
        whose number the trainer divides; a pair counts whose last word is there.
        """
        words = logits.shape[1]
        longest = min(self.longest, words)
        scores = self.pair_scores(logits, longest)
        counted, places, codes = labels.long().unbind(-1)
        there = (places >= 0) & (codes < longest * self.types)
        targets = scores.new_zeros(len(logits), scores[0].numel())
        cells = (places * longest * self.types + codes).where(there, 0)
        targets.scatter_add_(1, cells, there.to(scores.dtype))
        real = pad(places[:, :words] == IS_WORD, (0, longest - 1)).unfold(1, longest, 1)
        pairs = (counted[:, :words] != IGNORED).unsqueeze(-1) & real
        losses = binary_cross_entropy_with_logits(scores, targets.clamp(max=1).view_as(scores), reduction="none")
        return losses.where(pairs.unsqueeze(-1), 0.0).sum()

    def pair_scores(self, logits: Tensor, longest: int) -> Tensor:
        """`(batch, words, longest, types)` from `(batch, words, 2 * types + 2 * KEYS)`; what is beyond the last word is
        scored as a word of zeros.
        """

        def behind(vectors: Tensor) -> Tensor:
            """For each word its vector and those of the words behind it, `(batch, words, width, longest)`: a view."""
            return pad(vectors, (0, 0, 0, longest - 1)).unfold(1, longest, 1)

        begin, end, starts, ends = torch.split(logits.float(), [self.types, self.types, KEYS, KEYS], dim=-1)
        turns = torch.from_numpy(angles(logits.shape[1])).to(begin)
        pairs = torch.einsum("bwk,bwkl->bwl", rotated(starts, turns, torch), behind(rotated(ends, turns, torch)))
        scores: Tensor = begin.unsqueeze(2) + behind(end).transpose(2, 3) + pairs.unsqueeze(-1) / KEYS**0.5
        return scores

    def initialise(self) -> None:
        """As for every head; the biases of starts and ends say that spans are rare."""
        super().initialise()
        with torch.no_grad():
            self.output.bias[: 2 * self.types] = RARE
