"""What `finetune view` draws, as arrays; needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

TELLING = 0.1  # of `choice`: below, a head shows little


@dataclass(frozen=True, kw_only=True)
class HeadWeights:
    """Attention weights `(layers, heads, tokens, tokens)`: a row is a token that looks, and sums to 1.

    `separators` marks the tokens that are [SEP], `special` all that the tokenizer put around the text.
    """

    weights: np.ndarray
    separators: np.ndarray
    special: np.ndarray

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

    @cached_property
    def least_apart(self) -> int:
        """How far a token is at least from those of which `choice` speaks: 2, or 1 where no head chooses further."""
        return 2 if self._choice(2).max() >= TELLING else 1

    @cached_property
    def choice(self) -> np.ndarray:
        """How far tokens of the text choose one other token of it, `(layers, heads)`, 0 to 1.

        Of each token the largest weight on a token that is not special and `least_apart` away, less the mean weight
        that all of the text give to that one; a mean over tokens. It is near 0 for a head that spreads its weight
        evenly, and for one in which all look at the same token or at themselves.
        """
        return self._choice(self.least_apart)

    def _choice(self, least: int) -> np.ndarray:
        own, places = ~self.special, np.arange(len(self.special))
        allowed = own[:, None] & own[None] & (np.abs(places[:, None] - places[None]) >= least)
        if not allowed.any():
            return np.zeros(self.weights.shape[:2])
        more = self.weights - self.weights[:, :, own].mean(2, keepdims=True)
        found: np.ndarray = np.where(allowed, more, 0).max(-1)[..., allowed.any(1)].mean(-1)
        return found

    @property
    def telling(self) -> tuple[int, int]:
        """Layer and head, from 0, with the largest `choice`."""
        layer, head = np.unravel_index(int(self.choice.argmax()), self.choice.shape)
        return int(layer), int(head)


@dataclass(frozen=True, kw_only=True)
class TokenInputs:
    """What each token is before the first layer.

    `numbers` has for each token the place of its word in `words`, -1 for a token that the tokenizer added. `vectors`
    `(parts, tokens, width)` are those that are added for a token, by the names in `parts`: `token`, `segment` and
    `position`, of which a family may lack some, and which are empty where the input is not such a sum. `positions` are
    numbers from 0, and `given` `(tokens, width)` is what the first layer gets.
    """

    ids: Sequence[int]
    numbers: Sequence[int]
    words: Sequence[str]
    unknown: Sequence[bool]
    positions: Sequence[int] | None
    parts: Sequence[str]
    vectors: np.ndarray
    given: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What is predicted for a hidden token: the most probable tokens, best first; the probability and the rank (from 1)
    of the token that is hidden, None where the text itself has the mask.
    """

    place: int
    tokens: Sequence[str]
    probabilities: Sequence[float]
    probability: float | None
    rank: int | None


@dataclass(frozen=True, kw_only=True)
class HiddenWords:
    """For each word of a text, all of whose tokens are hidden at once, the guesses of its tokens.

    `why_not` is the name of a reason where a model cannot guess, and there are no words then.
    """

    words: Sequence[Sequence[Guess]] = ()
    why_not: str = ""


@dataclass(frozen=True, kw_only=True)
class StartCompared:
    """The encoder with which a run began, on the same tokens as the trained one.

    Its attention `weights` `(layers, heads, tokens, tokens)`; `moved`, the share of each head's attention that is
    elsewhere after training, `(layers, heads)`; and the `cosines` of a token's vectors before and after, `(layers + 1,
    tokens)`, of which the first is the input of layer 1.
    """

    weights: np.ndarray
    moved: np.ndarray
    cosines: np.ndarray


@dataclass(frozen=True, kw_only=True)
class BeforeTraining:
    """The name of the encoder with which a run began, whether its weights were random, and the comparison; `why_not` is
    the name of a reason where there is none.
    """

    start: str
    random: bool = False
    compared: StartCompared | None = None
    why_not: str = ""


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
    """An encoder's inside for the tokens of a sentence or a pair; `token_segments` has the segment of each token,
    `segments` is how many rows its table of segments has, and `before` is None for a model that is not a run.
    """

    model: str
    family: str
    tokens: Sequence[str]
    token_segments: Sequence[int]
    segments: int
    inputs: TokenInputs
    hidden: HiddenWords
    before: BeforeTraining | None
    attention: HeadWeights
    word: WordVectors
