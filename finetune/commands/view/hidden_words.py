"""Words that are hidden behind [MASK], and what the layer of pre-training predicts there (Devlin et al. 2019, 3.1)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, PreTrainedModel

from finetune.commands.view.encoder import EAGER, Encoder
from finetune.commands.view.parts import Guess, HiddenWords
from finetune.errors import UserError
from finetune.models.families import is_left_to_right
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.weight_files import from_pretrained, load_config

BEST = 5  # predictions of a hidden token
LEFT_TO_RIGHT, NO_MASK, NO_LAYER = "left-to-right", "no-mask", "no-layer"


def hidden_words(
    encoder: Encoder, inputs: dict[str, Any], numbers: Sequence[int], tokens_of: Callable[[Sequence[int]], list[str]]
) -> HiddenWords:
    """What the model predicts for each word, all of whose tokens are hidden at once; `numbers` has for each token the
    number of its word, -1 for none.
    """
    mask = encoder.tokenizer.mask_token_id
    if is_left_to_right(encoder.model.config):
        return HiddenWords(why_not=LEFT_TO_RIGHT)
    if mask is None:
        return HiddenWords(why_not=NO_MASK)
    model = word_model(encoder.folder)
    if model is None:
        return HiddenWords(why_not=NO_LAYER)
    ids, words = inputs["input_ids"], list[list[Guess]]()
    for number in range(max(numbers, default=-1) + 1):
        places = [at for at, of in enumerate(numbers) if of == number]
        hidden = ids.clone()
        hidden[0, places] = mask
        with torch.inference_mode():
            logits = model(**inputs | {"input_ids": hidden}).logits[0, places]
        words.append(
            [_guess(*each, mask, tokens_of) for each in zip(places, ids[0, places].tolist(), logits, strict=True)]
        )
    return HiddenWords(words=words)


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


def _guess(place: int, own: int, logits: Tensor, mask: int, tokens_of: Callable[[Sequence[int]], list[str]]) -> Guess:
    probabilities = logits.softmax(-1)
    best = probabilities.topk(min(BEST, len(probabilities)))
    known = own != mask
    return Guess(
        place=place,
        tokens=tokens_of(best.indices.tolist()),
        probabilities=best.values.tolist(),
        probability=float(probabilities[own]) if known else None,
        rank=int((probabilities > probabilities[own]).sum()) + 1 if known else None,
    )
