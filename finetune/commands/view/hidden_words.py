"""Words that are hidden behind [MASK], and what the layer of pre-training predicts there (Devlin et al. 2019, 3.1)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, PreTrainedModel

from finetune.commands.view.encoder import EAGER, Encoder
from finetune.commands.view.parts import Guess, HiddenWords
from finetune.errors import UserError
from finetune.models.families import is_left_to_right
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.model_config import load_config
from finetune.models.weight_files import from_pretrained

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


BEST = 5  # predictions of a hidden token
MOST_LOGITS = 16_000_000  # at a time: 64 MB
LEFT_TO_RIGHT, NO_MASK, NO_LAYER = "left-to-right", "no-mask", "no-layer"


def hidden_words(
    encoder: Encoder, inputs: dict[str, Any], numbers: Sequence[int], tokens_of: Callable[[Sequence[int]], list[str]]
) -> HiddenWords:
    """What the model predicts for each word; `numbers` has for each token the number of its word, -1 for none."""
    tokenizer = encoder.tokenizer
    if is_left_to_right(encoder.model.config):
        return HiddenWords(why_not=LEFT_TO_RIGHT)
    if tokenizer.mask_token_id is None:
        return HiddenWords(why_not=NO_MASK)
    model = word_model(encoder.folder)
    if model is None:
        return HiddenWords(why_not=NO_LAYER)
    ids = inputs["input_ids"][0]
    words = [[at for at, of in enumerate(numbers) if of == number] for number in range(max(numbers, default=-1) + 1)]
    logits = _logits(model, inputs, words, tokenizer)
    return HiddenWords(
        words=[
            [_guess(place, int(ids[place]), row, tokenizer, tokens_of) for place, row in zip(word, rows, strict=True)]
            for word, rows in zip(words, logits, strict=True)
        ]
    )


def word_model(folder: Path) -> PreTrainedModel | None:
    """The model with its trained layer for masked words; None where a folder has no such layer."""
    if (folder / OWN_WEIGHTS).is_file():
        return None
    try:
        model, info = from_pretrained(AutoModelForMaskedLM, folder, config=load_config(folder))
    except UserError:  # transformers has no such class for this type
        return None
    if info["missing_keys"]:
        return None
    model.set_attn_implementation(EAGER)
    return model.eval()


def _logits(
    model: PreTrainedModel, inputs: dict[str, Any], words: Sequence[Sequence[int]], tokenizer: "PreTrainedTokenizerBase"
) -> list[Tensor]:
    """For each word the logits at its hidden tokens, `(tokens of the word, vocabulary)`."""
    length = inputs["input_ids"].shape[1]
    at_once = max(1, MOST_LOGITS // (length * model.config.vocab_size))
    found: list[Tensor] = []
    for begin in range(0, len(words), at_once):
        some = words[begin : begin + at_once]
        batch = {name: part.expand(len(some), -1).clone() for name, part in inputs.items()}
        for row, places in enumerate(some):
            batch["input_ids"][row, list(places)] = tokenizer.mask_token_id
        with torch.inference_mode():
            logits = model(**batch).logits
        found += [logits[row, list(places)].clone() for row, places in enumerate(some)]
    return found


def _guess(
    place: int,
    own: int,
    logits: Tensor,
    tokenizer: "PreTrainedTokenizerBase",
    tokens_of: Callable[[Sequence[int]], list[str]],
) -> Guess:
    probabilities = logits.softmax(-1)
    best = probabilities.topk(min(BEST, len(probabilities)))
    known = own != tokenizer.mask_token_id
    return Guess(
        place=place,
        tokens=tokens_of(best.indices.tolist()),
        probabilities=best.values.tolist(),
        probability=float(probabilities[own]) if known else None,
        rank=int((probabilities > probabilities[own]).sum()) + 1 if known else None,
    )
