"""What `finetune view` draws, as arrays; needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Attention weights `(layers, heads, tokens, tokens)`: a row is a token that looks, and sums to 1.

    `separators` marks the tokens that are [SEP].
    """

    weights: np.ndarray
    separators: np.ndarray

    @property
    def entropy(self) -> np.ndarray:
        """Mean entropy of a token's weights in bits, `(layers, heads)`: 0 for one token, log2 of all for all alike."""
        logs = np.log2(np.where(self.weights > 0, self.weights, 1))
        found: np.ndarray = -(self.weights * logs).sum(-1).mean(-1)
        return found

    @property
    def distance(self) -> np.ndarray:
        """Mean distance in tokens to what is attended to, `(layers, heads)`."""
        places = np.arange(self.weights.shape[-1])
        apart = np.abs(places[:, None] - places[None])
        found: np.ndarray = (self.weights * apart).sum(-1).mean(-1)
        return found

    @property
    def on_separators(self) -> np.ndarray:
        """Mean share of the weights on [SEP], `(layers, heads)`, 0 to 1."""
        found: np.ndarray = self.weights[..., self.separators].sum(-1).mean(-1)
        return found


@dataclass(frozen=True, kw_only=True)
class AttentionSteps:
    """The steps of multi-head attention in some `layers` (from 1).

    `queries`, `keys`, `values` and `outputs` are `(layers, heads, tokens, width of a head)`, `scores` `(layers, heads,
    tokens, tokens)`: the products of queries and keys, scaled, before the softmax.
    """

    layers: Sequence[int]
    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    outputs: np.ndarray


@dataclass(frozen=True, kw_only=True)
class ResidualStream:
    """The vectors of each token at the `stages` of each layer: `(layers, stages, tokens, width)`.

    Of stages, `attention` and `feed_forward` are what is added, those that end in `_sum` the sums, and those that end
    in `_norm` what LayerNorm gives; `input` and `output` are those of the layer.
    """

    stages: Sequence[str]
    vectors: np.ndarray

    @property
    def norm_first(self) -> bool:
        """Whether LayerNorm comes before a sub-layer (pre-norm), and not after its sum."""
        return self.stages[1] == "attention_norm"


@dataclass(frozen=True, kw_only=True)
class Masks:
    """A batch of texts under each of some `kinds` of masks; `real` `(rows, tokens)` marks what is not padding.

    Of some `layers` (from 1) the weights, a mean of the heads, `(kinds, layers, rows, tokens, tokens)`, and the cosine
    of each token's vector with that of its text alone and without a mask, `(kinds, layers, rows, tokens)`. Of all
    layers the share of attention on padding, `(kinds, layers, rows)`. `batch_difference` is the largest difference
    between a number of the last layer in the batch with the padding mask and of the text alone.
    """

    tokens: Sequence[Sequence[str]]
    layers: Sequence[int]
    real: np.ndarray
    kinds: Sequence[str]
    weights: np.ndarray
    cosines: np.ndarray
    on_padding: np.ndarray
    batch_difference: float


@dataclass(frozen=True, kw_only=True)
class Beam:
    """The beginning of a text that a search extended by a `token`, its log-probability, and what became of it: `kept`,
    `finished` or `dropped`.
    """

    before: Sequence[str]
    token: str
    log_probability: float
    status: str


@dataclass(frozen=True, kw_only=True)
class WrittenText:
    """What a decoder writes: the tokens of the best text with the one that begins it, all texts of the search with
    their scores, best first, the text of greedy search, and the candidates of each step.

    `cross` `(layers, tokens, source tokens)` and `causal` `(layers, tokens, tokens)` are attention weights, a mean of
    the heads, of each token of the best text but the last, with which the decoder predicts the next.
    """

    target: Sequence[str]
    texts: Sequence[str]
    scores: Sequence[float]
    greedy: str
    beams: int
    length_penalty: float
    steps: Sequence[Sequence[Beam]]
    cross: np.ndarray
    causal: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The sequence output `(tokens, width)`, and the pooled output `(width,)`, None without a trained pooler."""

    sequence: np.ndarray
    pooled: np.ndarray | None


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """Rows of the table of positions with their numbers, and the table of segments; None where a family has none."""

    places: Sequence[int]
    positions: np.ndarray | None
    segments: np.ndarray | None


@dataclass(frozen=True, kw_only=True)
class MarkedSentence:
    """A sentence with the characters of a word in it, and the word's meaning if known; `yours` for a typed sentence."""

    text: str
    start: int
    end: int
    meaning: str = ""
    yours: bool = False


@dataclass(frozen=True, kw_only=True)
class WordVectors:
    """A word in sentences: its row of the word embeddings `(sentences, width)`, which knows no context, and its vector
    after the embeddings and after each layer, `(layers + 1, sentences, width)`; the mean where it has several tokens.
    """

    word: str
    sentences: Sequence[MarkedSentence]
    tokens: Sequence[str]
    context_free: np.ndarray
    layers: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Inside:
    """An encoder's inside for the tokens of a sentence or a pair; `token_segments` has the segment of each token."""

    model: str
    family: str
    left_to_right: bool
    tokens: Sequence[str]
    token_segments: Sequence[int]
    attention: Attention
    steps: AttentionSteps | None
    stream: ResidualStream | None
    masks: Masks | None
    written: WrittenText | None
    outputs: Outputs
    embeddings: Embeddings
    word: WordVectors
