"""Looks inside an encoder: attention, the embeddings of each token, hidden words, and a word's vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from scipy.special import entr
from torch import Tensor, nn

from finetune.commands.view.encoder import Encoder, hidden_words
from finetune.commands.view.word_vectors import MarkedSentence, WordVectors, word_vectors
from finetune.errors import UserError
from finetune.models.families import FAMILIES, POSITIONS, positions_before

EXAMPLE = ("The ferry left the bank of the river.", "It carried money to the bank.")
SEGMENTS = ("token_type_embeddings",)
CLOSE = 1e-4  # of the largest number: what a sum is computed to


@dataclass(frozen=True, kw_only=True)
class HeadWeights:
    """Attention weights `(layers, heads, tokens, tokens)`: a row is a token that looks, and sums to 1.

    `separators` marks the tokens that are [SEP], `special` all that the tokenizer put around the text. Measures are
    `(layers, heads)`.
    """

    weights: np.ndarray
    separators: np.ndarray
    special: np.ndarray

    @property
    def entropy(self) -> np.ndarray:
        """Mean entropy of a token's weights in bits: 0 for one token, log2 of all for all alike."""
        return np.asarray(entr(self.weights).sum(-1).mean(-1) / np.log(2))

    @property
    def apart(self) -> np.ndarray:
        """How many tokens lie between two `(tokens, tokens)`."""
        places = np.arange(len(self.special))
        return np.asarray(np.abs(places[:, None] - places[None]))

    @property
    def distance(self) -> np.ndarray:
        """Mean distance in tokens to the attended token."""
        return np.asarray((self.weights * self.apart).sum(-1).mean(-1))

    @property
    def on_separators(self) -> np.ndarray:
        """Mean share of the weights on [SEP], 0 to 1."""
        return np.asarray(self.weights[..., self.separators].sum(-1).mean(-1))

    @property
    def choice(self) -> np.ndarray:
        """How far tokens of the text choose one other token of it, 0 to 1.

        Of each token the largest weight on a token that is neither special nor next to it, less the mean weight that
        all of the text give to that one; a mean over tokens. It is near 0 for a head that spreads its weight evenly,
        and for one in which all look at the same token or at themselves.
        """
        words = ~self.special
        allowed = words[:, None] & words[None] & (self.apart > 1)
        if not allowed.any():
            return np.zeros(self.weights.shape[:2])
        more = self.weights - self.weights[:, :, words].mean(2, keepdims=True)
        return np.asarray(np.where(allowed, more, 0).max(-1)[..., allowed.any(1)].mean(-1))


@dataclass(frozen=True, kw_only=True)
class TokenInputs:
    """What each token is before the first layer.

    `numbers` has for each token the place of its word in `words`, -1 for a token that the tokenizer added. `parts` are
    the vectors `(tokens, width)` that are added for a token, of `token`, `segment` and `position`, of which a family
    may lack some, and none where its input is not such a sum; `given` `(tokens, width)` is what the first layer gets.
    """

    ids: Sequence[int]
    numbers: Sequence[int]
    words: Sequence[str]
    unknown: Sequence[bool]
    parts: dict[str, np.ndarray]
    given: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Inside:
    """An encoder's inside for the tokens of a sentence or a pair; `token_segments` has the segment of each token, and
    `hidden` is the result of `hidden_words`.
    """

    model: str
    family: str
    tokens: Sequence[str]
    token_segments: Sequence[int]
    inputs: TokenInputs
    hidden: list[list[dict[str, Any]]] | None
    attention: HeadWeights
    word: WordVectors


def look(encoder: Encoder, texts: Sequence[str], word: str, sentences: Sequence[MarkedSentence]) -> Inside:
    """The encoder's inside for a text or a pair, and the vectors of a word in sentences.

    Raises UserError for an empty text, and for more tokens than a page can show.
    """
    inputs = encoder.encode(texts)
    with torch.inference_mode():
        attentions = encoder.model(**inputs, output_attentions=True).attentions
    if not attentions:
        raise UserError(f"{encoder.name}: its family returns no attention weights", "Choose another encoder")
    read, kind = token_inputs(encoder, texts, inputs), encoder.model.config.model_type
    return Inside(
        model=encoder.name,
        family=FAMILIES[kind].title if kind in FAMILIES else kind,
        tokens=encoder.shown_tokens(read.ids),
        token_segments=inputs["token_type_ids"][0].tolist() if "token_type_ids" in inputs else [0] * len(read.ids),
        inputs=read,
        hidden=hidden_words(encoder, inputs, read.numbers),
        attention=HeadWeights(
            weights=torch.cat(attentions).numpy(),
            separators=np.array(read.ids) == encoder.tokenizer.sep_token_id,
            special=np.array(read.numbers) < 0,
        ),
        word=word_vectors(encoder, word, sentences),
    )


def token_inputs(encoder: Encoder, texts: Sequence[str], inputs: dict[str, Any]) -> TokenInputs:
    """The words and the added vectors of a text or a pair, whose tensors are `inputs`.

    BERT adds the embeddings of token, segment and position (Devlin et al. 2019, figure 2); other families add fewer:
    those are named whose sum is what the encoder reads, before or after its first LayerNorm.
    """
    model, ids = encoder.model, inputs["input_ids"][0]
    normed = list[Tensor]()
    for part in model.modules():
        if type(part).__name__.endswith("Norm"):
            part.register_forward_pre_hook(lambda _, hook_inputs: None if normed else normed.append(hook_inputs[0]))
    with torch.inference_mode():
        first = model(**inputs, output_hidden_states=True).hidden_states[0][0, : len(ids)]
        vectors = {"token": model.get_input_embeddings()(ids)}
        if (segments := _table(model, SEGMENTS)) is not None:
            vectors["segment"] = segments(inputs.get("token_type_ids", torch.zeros_like(inputs["input_ids"]))[0])
        if (positions := _table(model, POSITIONS)) is not None:
            vectors["position"] = positions(torch.arange(len(ids)) + positions_before(positions))
    sums = [first, *(seen.reshape(-1, seen.shape[-1])[: len(ids)] for seen in normed[:1])]
    fewer = [dict(islice(vectors.items(), count)) for count in range(len(vectors), 0, -1)]  # first without positions
    parts = next((added for added in fewer if any(_is_sum(added, total) for total in sums)), {})
    encoded = encoder.tokenizer(*texts, verbose=False)
    words, numbers = dict[tuple[int, int], str](), list[int]()
    for text, word in zip(encoded.sequence_ids(), encoded.word_ids(), strict=True):
        if text is None or word is None:
            numbers.append(-1)
            continue
        span = encoded.word_to_chars(word, sequence_index=text)
        words[text, word] = texts[text][span.start : span.end].strip()
        numbers.append(list(words).index((text, word)))
    return TokenInputs(
        ids=ids.tolist(), numbers=numbers, words=list(words.values()),
        unknown=(ids == encoder.tokenizer.unk_token_id).tolist(),
        parts={name: part.numpy() for name, part in parts.items()}, given=first.numpy(),
    )  # fmt: skip


def _is_sum(parts: dict[str, Tensor], total: Tensor) -> bool:
    added: Any = sum(parts.values())
    return added.shape == total.shape and float((added - total).abs().max()) <= CLOSE * float(total.abs().max())


def _table(model: nn.Module, names: Sequence[str]) -> nn.Embedding | None:
    tables = (part for name, part in model.named_modules() if name.rpartition(".")[2] in names)
    return next((table for table in tables if isinstance(table, nn.Embedding)), None)
