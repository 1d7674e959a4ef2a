"""The encoder that a page shows, a text as it reads it, and what it predicts for hidden words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from finetune.data.characters import shown_jamo
from finetune.errors import UserError
from finetune.inference.predictor import saved
from finetune.models.families import is_left_to_right, takes_segments
from finetune.models.model_folder import from_pretrained, has_own_head, load_config, load_encoder
from finetune.models.tokenizers.load import load_tokenizer

EAGER = "eager"  # the only attention that returns weights
PART = "\ufffd"  # what a decoder gives for bytes that are a part of a character
MOST_TOKENS = 64
MOST_WEIGHTS = 600_000  # attention weights on a page
BEST = 5  # predictions of a hidden token


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
            best, token_id = shares[place].topk(min(BEST, shares.shape[-1])), int(ids[0, place])
            guesses.append({
                "place": place,
                "tokens": encoder.shown_tokens(best.indices.tolist()),
                "probabilities": best.values.tolist(),
                "probability": None if token_id == mask else float(shares[place, token_id]),
                "rank": None if token_id == mask else int((shares[place] > shares[place, token_id]).sum()) + 1,
            })  # fmt: skip
        words.append(guesses)
    return words


def _word_model(folder: Path) -> Any:
    """The model with its trained layer for masked words; None where a folder has no such layer."""
    if has_own_head(folder):
        return None
    try:
        model, info = from_pretrained(AutoModelForMaskedLM, folder, config=load_config(folder))
    except UserError:  # transformers has no such class for this type
        return None
    model.set_attn_implementation(EAGER)
    return None if info["missing_keys"] else model.eval()
