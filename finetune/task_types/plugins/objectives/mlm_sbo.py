"""Masked spans, whose tokens are predicted from their own vectors, and from the two tokens around the span.

Joshi et al. 2020 (SpanBERT), section 3. Of the vectors x of the tokens before and after a span, and p of a token's
place in it, h = LayerNorm(GeLU(W [x; x; p])) and y = LayerNorm(GeLU(V h)); y predicts the token as a masked word's
vector does, with the same word embeddings. The loss is the sum of this one and the loss of masked words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from finetune.models.backbone import Backbone, at_positions
from finetune.models.feature import IGNORED, Feature
from finetune.models.head import norm_layer
from finetune.task_types.pretraining.draw import MaskUnit, masked_at
from finetune.task_types.pretraining.head import TrainingParts, WordHead
from finetune.task_types.pretraining.objectives import Objective
from finetune.task_types.pretraining.pieces import INSIDE, SPECIAL, STARTS, WORDS

BOUNDARY = "boundary"  # labels of masked tokens: id, where among the reads both ends of its span are, and its place
HIDDEN = "hidden"  # among the logits: the vectors that are read
PLACES, PLACE_WIDTH = 20, 200  # of a span's tokens that are predicted from its ends, as in the original code
MOST_WORDS, MORE = 10, 0.2  # words of a span, and the chance that it ends after each: 3.8 words on average
SPREAD = 0.02  # of the vectors of places at the start
TRIES = 100  # spans that are drawn for a piece, at most


class SpanBoundaries(Objective):
    """Masked spans, in training also from the tokens around them; in dev masked words, as `mlm`."""

    masks = "spans"

    def head(self, backbone: Backbone) -> "BoundaryHead":
        return BoundaryHead(backbone)

    def draw(
        self, features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
    ) -> list[Feature]:
        """Spans of about the share of each feature's tokens; all tokens of a span become [MASK], random or stay."""
        drawn = [span_positions(feature.note.units, share, generator) for feature in features]
        starts = np.cumsum([0, *map(len, features)])
        positions = np.concatenate(
            [positions_of_feature + start for positions_of_feature, start in zip(drawn, starts, strict=False)]
        )
        span = np.cumsum(np.diff(positions, prepend=-2) > 1) - 1
        chances = generator.random(len(positions))[span]
        return [with_boundaries(feature) for feature in masked_at(features, positions, chances, generator)]


def span_positions(units: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """The sorted positions of the tokens of random spans of whole words, of about a share of the tokens.

    `units` has the word of each token of a piece, `(tokens,)`. Spans do not touch each other, and have no special
    token.
    """
    starts, outside = np.flatnonzero(units == STARTS), np.append(np.flatnonzero(units != INSIDE), len(units))
    ends = outside[np.searchsorted(outside, starts, side="right")]
    chosen, near = np.zeros((2, len(units)), bool)
    wanted = max(1, int(share * np.count_nonzero(units != SPECIAL) + generator.random()))
    for _ in range(TRIES if len(starts) else 0):
        first = last = int(generator.integers(len(starts)))
        limit = starts[first] + wanted - np.count_nonzero(chosen)
        for word in range(first + 1, min(first + min(int(generator.geometric(MORE)), MOST_WORDS), len(starts))):
            if starts[word] != ends[last] or ends[word] > limit:  # behind a special token, or more than is wanted
                break
            last = word
        span = slice(int(starts[first]), int(ends[last]))
        if (span.stop <= limit or not chosen.any()) and not near[span].any():
            chosen[span] = True
            near[max(0, span.start - 1) : span.stop + 1] = True
        if np.count_nonzero(chosen) >= wanted:
            break
    return np.flatnonzero(chosen)


def with_boundaries(feature: Feature) -> Feature:
    """A feature that reads masked spans, which then reads the tokens around them too, and has the labels BOUNDARY."""
    positions, ids, most = np.asarray(feature.reads), np.asarray(feature.label[WORDS]), len(feature) - 1
    starts = np.diff(positions, prepend=-2) > 1
    first, span = np.flatnonzero(starts), np.cumsum(starts) - 1
    before, after = positions[first][span] - 1, positions[np.append(first, len(positions))[1:] - 1][span] + 1
    valid = (before >= 0) & (after <= most) & (positions - before <= PLACES)
    reads = np.unique(np.concatenate([positions, before, after]).clip(0, most))
    words = np.full(len(reads), IGNORED)
    words[np.searchsorted(reads, positions)] = ids
    ends = (np.searchsorted(reads, position.clip(0, most)) for position in (before, after))
    table = np.stack([np.where(valid, ids, IGNORED), *ends, positions - before - 1], axis=1)
    return replace(feature, reads=reads, label=feature.label | {WORDS: words, BOUNDARY: table})


class BoundaryHead(TrainingParts, WordHead):
    """Masked words; in training also from the tokens around each span, by layers that are not saved."""

    training_only = "boundary"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self._form = backbone.config, backbone.width

    def initialise(self) -> None:
        """Also makes the layers that predict from the ends of a span."""
        self.boundary = SpanBoundary(*self._form, self._shared[0].weight.shape[1])
        super().initialise()
        nn.init.normal_(self.boundary.places.weight, std=SPREAD)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Any:
        """As of masked words; in training also the vectors."""
        words = super().forward(hidden, mask)
        return {WORDS: words, HIDDEN: hidden} if self.training else words

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cross-entropy from the own vectors, and from the ends, each summed over its own labels."""
        if isinstance(logits, Tensor):
            return super().losses(logits, labels)
        ids, before, after, places = labels[BOUNDARY].long().unbind(-1)
        ends = (at_positions(logits[HIDDEN], boundary) for boundary in (before, after))
        of_ends = self.words(self.boundary(*ends, places))
        return super().losses(logits[WORDS], labels) | {BOUNDARY: self.loss(of_ends, ids)}


class SpanBoundary(nn.Module):
    """From the vectors `(batch, tokens, width)` around each span, and the place `(batch, tokens)` of a token in it, to
    the vector `(batch, tokens, wanted)` that predicts the token.
    """

    def __init__(self, config: Any, width: int, wanted: int) -> None:
        super().__init__()
        self.places = nn.Embedding(PLACES, PLACE_WIDTH)
        self.first, self.second = nn.Linear(2 * width + PLACE_WIDTH, wanted), nn.Linear(wanted, wanted)
        self.first_norm, self.second_norm = norm_layer(config, wanted), norm_layer(config, wanted)
        self.activation = nn.GELU()

    def forward(self, before: Tensor, after: Tensor, places: Tensor) -> Tensor:
        """The vectors; a place that is further from the start, or none, has that of the nearest, and no label."""
        joined = torch.cat([before, after, self.places(places.clamp(0, PLACES - 1))], dim=-1)
        hidden = self.first_norm(self.activation(self.first(joined)))
        return self.second_norm(self.activation(self.second(hidden)))  # type: ignore[no-any-return]


OBJECTIVE = SpanBoundaries
