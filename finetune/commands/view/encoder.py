"""Looks inside an encoder: a text as it reads it, attention, and what it predicts for hidden words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from finetune.commands.view.word_vectors import MarkedSentence, WordVectors, word_vectors
from finetune.data.characters import shown_jamo
from finetune.errors import UserError
from finetune.inference.predictor import saved
from finetune.models.families import FAMILIES, is_left_to_right, takes_segments
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.model_folder import from_pretrained, load_config, load_encoder
from finetune.models.tokenizers.load import load_tokenizer

EAGER = "eager"  # the only attention that returns weights
PART = "\ufffd"  # what a decoder gives for bytes that are a part of a character
MOST_TOKENS = 64
MOST_WEIGHTS = 600_000  # attention weights on a page
BEST = 5  # predictions of a hidden token
EXAMPLE = ("The ferry left the bank of the river.", "It carried money to the bank.")


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """An encoder with its tokenizer, in evaluation mode on the CPU; `folder` has its files."""

    name: str
    folder: Path
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    def encode(self, texts: Sequence[str]) -> dict[str, Any]:
        """A text or a pair as tensors of one sequence. Raises UserError for an empty one, and for too many tokens."""
        if not all(text.strip() for text in texts):
            raise UserError("the text is empty", "Give it at least one word")
        encoded, config = self.tokenizer(*texts, return_tensors="pt", verbose=False), self.model.config
        most = min(MOST_TOKENS, int((MOST_WEIGHTS / config.num_hidden_layers / config.num_attention_heads) ** 0.5))
        if (tokens := encoded["input_ids"].shape[1]) > most:
            raise UserError(f"the text has {tokens} tokens; the page shows at most {most} of this model", "Shorten it")
        names = ["input_ids", "attention_mask", *["token_type_ids"] * takes_segments(config)]
        return {name: encoded[name] for name in names if name in encoded}

    def shown_tokens(self, ids: Sequence[int]) -> list[str]:
        """Tokens as a reader knows them: the bytes of byte-level BPE as characters, `▁` and `Ġ` for the space before,
        and bytes that are a part of a character as `<F0 9F>`.
        """
        tokens = [str(token) for token in self.tokenizer.convert_ids_to_tokens(list(ids))]
        if '"ByteLevel"' in self.tokenizer.backend_tokenizer.to_str():
            codes = {letter: f"{code:02X}" for code, letter in bytes_to_unicode().items()}
            for place, number in enumerate(ids):
                text = self.tokenizer.decode([number])
                part = f"<{' '.join(codes.get(letter, letter) for letter in tokens[place])}>"
                tokens[place] = part if PART in text else text.replace(" ", "Ġ")
        return list(map(shown_jamo, tokens))


def loaded_encoder(name: str, *, out: Path) -> Encoder:
    """The encoder of a model, or of a run without its head. Raises UserError where none has layers."""
    folder = saved(name, out=out).trained_folder
    tokenizer = load_tokenizer(folder)
    model, _ = load_encoder(folder)
    model.set_attn_implementation(EAGER)
    return Encoder(name=name, folder=folder, model=model, tokenizer=tokenizer)


@dataclass(frozen=True, kw_only=True)
class Inside:
    """An encoder's inside for the tokens of a sentence or a pair; `width` is that of its vectors.

    Of each token `segments` has the segment, `ids` the number in the vocabulary, `numbers` the place of its word in
    `words`, -1 for one that the tokenizer added. `hidden` is the result of `hidden_words`. `weights` are those of
    attention `(layers, heads, tokens, tokens)`: a row is a token that looks, and sums to 1.
    """

    model: str
    family: str
    width: int
    tokens: Sequence[str]
    segments: Sequence[int]
    ids: Sequence[int]
    numbers: Sequence[int]
    words: Sequence[str]
    unknown: Sequence[bool]
    hidden: list[list[dict[str, Any]]] | None
    weights: np.ndarray
    word: WordVectors

    @property
    def choice(self) -> np.ndarray:
        """How far tokens of the text choose one other token of it, 0 to 1, `(layers, heads)`.

        Of each token the largest weight on a token that is neither special nor next to it, less the mean weight that
        all of the text give to that one; a mean over tokens. It is near 0 for a head that spreads its weight evenly,
        and for one in which all look at the same token or at themselves.
        """
        own, places = np.array(self.numbers) >= 0, np.arange(len(self.numbers))
        allowed = own[:, None] & own[None] & (np.abs(places[:, None] - places[None]) > 1)
        if not allowed.any():
            return np.zeros(self.weights.shape[:2])
        more = self.weights - self.weights[:, :, own].mean(2, keepdims=True)
        return np.asarray(np.where(allowed, more, 0).max(-1)[..., allowed.any(1)].mean(-1))


def look(encoder: Encoder, texts: Sequence[str], word: str, sentences: Sequence[MarkedSentence]) -> Inside:
    """The encoder's inside for a text or a pair, and the vectors of a word in sentences.

    Raises UserError for an empty text, and for more tokens than a page can show.
    """
    inputs, config = encoder.encode(texts), encoder.model.config
    with torch.inference_mode():
        attentions = encoder.model(**inputs, output_attentions=True).attentions
    if not attentions:
        raise UserError(f"{encoder.name}: its family returns no attention weights", "Choose another encoder")
    ids, encoded = inputs["input_ids"][0].tolist(), encoder.tokenizer(*texts, verbose=False)
    words, numbers = dict[tuple[int, int], str](), list[int]()
    for text, place in zip(encoded.sequence_ids(), encoded.word_ids(), strict=True):
        if text is None or place is None:
            numbers.append(-1)
            continue
        span = encoded.word_to_chars(place, sequence_index=text)
        words[text, place] = texts[text][span.start : span.end].strip()
        numbers.append(list(words).index((text, place)))
    return Inside(
        model=encoder.name,
        family=FAMILIES[config.model_type].title if config.model_type in FAMILIES else config.model_type,
        width=config.hidden_size,
        tokens=encoder.shown_tokens(ids),
        segments=inputs["token_type_ids"][0].tolist() if "token_type_ids" in inputs else [0] * len(ids),
        ids=ids,
        numbers=numbers,
        words=list(words.values()),
        unknown=[number == encoder.tokenizer.unk_token_id for number in ids],
        hidden=hidden_words(encoder, inputs, numbers),
        weights=torch.cat(attentions).numpy(),
        word=word_vectors(encoder, word, sentences),
    )


def hidden_words(encoder: Encoder, inputs: dict[str, Any], numbers: Sequence[int]) -> list[list[dict[str, Any]]] | None:
    """For each word, all of whose tokens are hidden at once, what is predicted for each token; None where the model was
    not trained to (Devlin et al. 2019, 3.1). `numbers` has for each token the number of its word, -1 for none.

    A token has its `place`, the most probable `tokens` with their `probabilities`, best first, and of the true token
    `probability` and `rank` (from 1), which are None where the text itself has the mask.
    """
    mask = encoder.tokenizer.mask_token_id
    model = None if mask is None or is_left_to_right(encoder.model.config) else _word_model(encoder.folder)
    if model is None:
        return None
    ids, words = inputs["input_ids"], list[list[dict[str, Any]]]()
    for number in range(max(numbers, default=-1) + 1):
        places = [place for place, word in enumerate(numbers) if word == number]
        hidden, guesses = ids.clone(), []
        hidden[0, places] = mask
        with torch.inference_mode():
            shares = model(**inputs | {"input_ids": hidden}).logits[0].softmax(-1)
        for place in places:
            best, own = shares[place].topk(min(BEST, shares.shape[-1])), int(ids[0, place])
            guesses.append({
                "place": place,
                "tokens": encoder.shown_tokens(best.indices.tolist()),
                "probabilities": best.values.tolist(),
                "probability": None if own == mask else float(shares[place, own]),
                "rank": None if own == mask else int((shares[place] > shares[place, own]).sum()) + 1,
            })  # fmt: skip
        words.append(guesses)
    return words


def _word_model(folder: Path) -> Any:
    """The model with its trained layer for masked words; None where a folder has no such layer."""
    if (folder / OWN_WEIGHTS).is_file():
        return None
    try:
        model, info = from_pretrained(AutoModelForMaskedLM, folder, config=load_config(folder))
    except UserError:  # transformers has no such class for this type
        return None
    model.set_attn_implementation(EAGER)
    return None if info["missing_keys"] else model.eval()
