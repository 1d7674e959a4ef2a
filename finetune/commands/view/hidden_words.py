"""Words that are hidden behind [MASK], and what the layer of pre-training predicts there (Devlin et al. 2019, 3.1)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM

from finetune.commands.view.encoder import EAGER, Encoder
from finetune.errors import UserError
from finetune.models.families import is_left_to_right
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.model_folder import from_pretrained, load_config

BEST = 5  # predictions of a hidden token


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
