"""The span boundary objective: each token of a masked span, also predicted from the two tokens around the span.

Joshi et al. 2020, SpanBERT, section 3.2: of the vectors x of the tokens before and after a span, and p of a token's
place in it, h = LayerNorm(GeLU(W [x; x; p])) and y = LayerNorm(GeLU(V h)); y predicts the token as a masked word's
vector does, with the same word embeddings. The loss is the sum of this one and that of masked words.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from finetune.models.backbone import Backbone, at_positions
from finetune.models.batch import Batch
from finetune.models.head import norm_layer
from finetune.task_types.pretraining.head import WordHead
from finetune.task_types.pretraining.label_names import BOUNDARY, WORDS
from finetune.task_types.pretraining.masks import PLACES

PLACE_WIDTH = 200  # of the vectors of places, as in the original code
SPREAD = 0.02  # of their first values


class BoundaryHead(WordHead):
    """Masked words; in training also from the tokens around each span, by layers that are not saved."""

    reads_batches = True
    training_only = ("boundary",)

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self._form = backbone.config, backbone.width

    def initialise(self) -> None:
        """Also makes the layers that predict from the ends of a span."""
        config, width = self._form
        self.boundary = SpanBoundary(config, width, self.output_width)
        super().initialise()
        nn.init.normal_(self.boundary.places.weight, std=SPREAD)

    def of_batch(self, batch: Batch, backbone: Backbone) -> dict[str, Tensor]:
        """Logits `(batch, positions, vocabulary)` of the masked tokens from their own vectors, and from the ends."""
        positions: Any = batch.positions
        inputs = batch.for_encoder() | {"positions": None}
        states, mask = backbone.hidden_states(backbone.layer_indices(pooled=False), pooled=False, **inputs)
        hidden = backbone.read(states, mask, pooled=False)
        before, after, places = span_ends(positions)
        ends = [at_positions(hidden, each) for each in (before, after)]
        return {
            WORDS: super().forward(at_positions(hidden, positions), mask),
            BOUNDARY: self.words(self.boundary(*ends, places)),
        }

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cross-entropy of both, each summed over its own labels."""
        return {name: self.loss(logits[name], labels[name]) for name in (WORDS, BOUNDARY)}


class SpanBoundary(nn.Module):
    """From the vectors `(batch, positions, width)` of the tokens around each span, and the place `(batch, positions)`
    of a token in it, to the vector `(batch, positions, wanted)` that predicts the token.
    """

    def __init__(self, config: Any, width: int, wanted: int) -> None:
        super().__init__()
        self.places = nn.Embedding(PLACES, PLACE_WIDTH)
        self.first, self.second = nn.Linear(2 * width + PLACE_WIDTH, wanted), nn.Linear(wanted, wanted)
        self.first_norm, self.second_norm = norm_layer(config, wanted), norm_layer(config, wanted)
        self.activation = nn.GELU()

    def forward(self, before: Tensor, after: Tensor, places: Tensor) -> Tensor:
        """The vectors; places that are further from the start have that of the last one, and no label."""
        joined = torch.cat([before, after, self.places(places.clamp(0, PLACES - 1))], dim=-1)
        hidden = self.first_norm(self.activation(self.first(joined)))
        return self.second_norm(self.activation(self.second(hidden)))  # type: ignore[no-any-return]


def span_ends(positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For positions `(batch, n)` in rising order, then -1: the position before the run of neighbours that each is in,
    the position after it, and its place in the run, from 0.
    """
    runs = positions - torch.arange(positions.shape[1], device=positions.device)  # the same in a run alone
    same = runs.unsqueeze(2) == runs.unsqueeze(1)
    others = positions.unsqueeze(1)
    before = torch.where(same, others, positions.max()).amin(-1) - 1
    after = torch.where(same, others, -1).amax(-1) + 1
    return before, after, positions - before - 1
