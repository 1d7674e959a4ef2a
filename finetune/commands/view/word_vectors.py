"""One word in many sentences: its vector after each layer (Devlin et al. 2019, section 5.3 reads such vectors)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import PreTrainedModel

from finetune.commands.view.parts import MarkedSentence, WordVectors
from finetune.data.characters import shown_jamo
from finetune.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def word_vectors(
    model: PreTrainedModel, tokenizer: "PreTrainedTokenizerBase", word: str, sentences: Sequence[MarkedSentence]
) -> WordVectors:
    """The vectors of a word in sentences. Raises UserError for a sentence that is too long for the encoder."""
    table = model.get_input_embeddings().weight.detach()
    free, layers, tokens = [], [], []
    for sentence in sentences:
        encoded = tokenizer(
            sentence.text, return_tensors="pt", return_offsets_mapping=True, return_token_type_ids=False, verbose=False
        )
        places = _places(encoded.pop("offset_mapping")[0].tolist(), sentence)
        ids = encoded["input_ids"][0]
        if not places or len(ids) > tokenizer.model_max_length:
            raise UserError(f"the tokenizer does not find '{word}' in: {sentence.text[:60]}", "Shorten or remove it")
        with torch.inference_mode():
            states = model(**encoded, output_hidden_states=True).hidden_states
        layers.append(torch.stack([state[0, places].mean(0) for state in states]).numpy())
        free.append(table[ids[places]].mean(0).numpy())
        tokens.append(shown_jamo(" ".join(tokenizer.convert_ids_to_tokens(ids[places].tolist()))))
    return WordVectors(
        word=word, sentences=sentences, tokens=tokens, context_free=np.stack(free), layers=np.stack(layers, axis=1)
    )


def _places(offsets: Sequence[Sequence[int]], sentence: MarkedSentence) -> list[int]:
    """The positions of the tokens that have characters of the word."""
    return [
        place
        for place, (start, end) in enumerate(offsets)
        if start < sentence.end and end > sentence.start and end > start
    ]
