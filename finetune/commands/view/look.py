"""Looks inside an encoder: read this file first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM

from finetune.commands.view.encoder import EAGER, Encoder
from finetune.commands.view.word_vectors import MarkedSentence, WordVectors, word_vectors
from finetune.errors import UserError
from finetune.models.families import FAMILIES, is_left_to_right
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.model_folder import from_pretrained, load_config

BEST = 5  # predictions of a hidden token
EXAMPLE = ("The ferry left the bank of the river.", "It carried money to the bank.")


@dataclass(frozen=True, kw_only=True)
class HeadWeights:
    """Attention weights `(layers, heads, tokens, tokens)`: a row is a token that looks, and sums to 1.

    `special` marks the tokens that the tokenizer put around the text.
    """

    weights: np.ndarray
    special: np.ndarray

    @property
    def apart(self) -> np.ndarray:
        """How many tokens lie between two `(tokens, tokens)`."""
        places = np.arange(len(self.special))
        return np.asarray(np.abs(places[:, None] - places[None]))

    @property
    def choice(self) -> np.ndarray:
        """How far tokens of the text choose one other token of it, `(layers, heads)`, 0 to 1.

        Of each token the largest weight on a token that is neither special nor next to it, less the mean weight that
        all of the text give to that one; a mean over tokens. It is near 0 for a head that spreads its weight evenly,
        and for one in which all look at the same token or at themselves.
        """
        own = ~self.special
        allowed = own[:, None] & own[None] & (self.apart > 1)
        if not allowed.any():
            return np.zeros(self.weights.shape[:2])
        more = self.weights - self.weights[:, :, own].mean(2, keepdims=True)
        return np.asarray(np.where(allowed, more, 0).max(-1)[..., allowed.any(1)].mean(-1))


@dataclass(frozen=True, kw_only=True)
class TokenInputs:
    """The tokens of a text. `numbers` has for each the place of its word in `words`, -1 for a token that the tokenizer
    added.
    """

    ids: Sequence[int]
    numbers: Sequence[int]
    words: Sequence[str]
    unknown: Sequence[bool]


@dataclass(frozen=True, kw_only=True)
class Inside:
    """An encoder's inside for the tokens of a sentence or a pair; `token_segments` has the segment of each token, and
    `hidden` is the result of `hidden_words`.
    """

    model: str
    family: str
    width: int
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
    read = token_inputs(encoder, texts, inputs["input_ids"][0].tolist())
    kind = encoder.model.config.model_type
    return Inside(
        model=encoder.name,
        family=FAMILIES[kind].title,
        width=encoder.model.config.hidden_size,
        tokens=encoder.shown_tokens(read.ids),
        token_segments=inputs["token_type_ids"][0].tolist() if "token_type_ids" in inputs else [0] * len(read.ids),
        inputs=read,
        hidden=hidden_words(encoder, inputs, read.numbers),
        attention=HeadWeights(
            weights=torch.cat(attentions).numpy(),
            special=np.array(read.numbers) < 0,
        ),
        word=word_vectors(encoder, word, sentences),
    )


def token_inputs(encoder: Encoder, texts: Sequence[str], ids: Sequence[int]) -> TokenInputs:
    """The tokens of a text or a pair, and their words."""
    numbers, words = _words_of_tokens(encoder, texts)
    unknown = [number == encoder.tokenizer.unk_token_id for number in ids]
    return TokenInputs(ids=ids, numbers=numbers, words=words, unknown=unknown)


def _words_of_tokens(encoder: Encoder, texts: Sequence[str]) -> tuple[list[int], list[str]]:
    """For each token the number of its word, from 0 and -1 for a token of the model's own; and the words."""
    encoded = encoder.tokenizer(*texts, verbose=False)
    words, numbers = dict[tuple[int, int], str](), list[int]()
    for text, word in zip(encoded.sequence_ids(), encoded.word_ids(), strict=True):
        if text is None or word is None:
            numbers.append(-1)
            continue
        span = encoded.word_to_chars(word, sequence_index=text)
        words[text, word] = texts[text][span.start : span.end].strip()
        numbers.append(list(words).index((text, word)))
    return numbers, list(words.values())


def hidden_words(encoder: Encoder, inputs: dict[str, Any], numbers: Sequence[int]) -> list[list[dict[str, Any]]] | None:
    """For each word, all of whose tokens are hidden at once, what is predicted for each token; None where the model was
    not trained to. `numbers` has for each token the number of its word, -1 for none.

    A token has its `place`, the most probable `tokens` with their `probabilities`, best first, and of the true token
    `probability` and `rank` (from 1), which are None where the text itself has the mask.
    """
    mask = encoder.tokenizer.mask_token_id
    model = None if mask is None or is_left_to_right(encoder.model.config) else _word_model(encoder)
    if model is None:
        return None
    ids, words = inputs["input_ids"], list[list[dict[str, Any]]]()
    for number in range(max(numbers, default=-1) + 1):
        places = [place for place, word in enumerate(numbers) if word == number]
        hidden = ids.clone()
        hidden[0, places] = mask
        with torch.inference_mode():
            shares = model(**inputs | {"input_ids": hidden}).logits[0].softmax(-1)
        words.append([_guess(encoder, place, int(ids[0, place]), shares[place]) for place in places])
    return words


def _word_model(encoder: Encoder) -> Any:
    """The model with its trained layer for masked words; None where a folder has no such layer."""
    if (encoder.folder / OWN_WEIGHTS).is_file():
        return None
    try:
        model, info = from_pretrained(AutoModelForMaskedLM, encoder.folder, config=load_config(encoder.folder))
    except UserError:  # transformers has no such class for this type
        return None
    model.set_attn_implementation(EAGER)
    return None if info["missing_keys"] else model.eval()


def _guess(encoder: Encoder, place: int, own: int, shares: Tensor) -> dict[str, Any]:
    best = shares.topk(min(BEST, len(shares)))
    is_mask = own == encoder.tokenizer.mask_token_id
    return {
        "place": place,
        "tokens": encoder.shown_tokens(best.indices.tolist()),
        "probabilities": best.values.tolist(),
        "probability": None if is_mask else float(shares[own]),
        "rank": None if is_mask else int((shares > shares[own]).sum()) + 1,
    }
