"""Looks inside an encoder: read this file first."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.convert_slow_tokenizer import bytes_to_unicode

from finetune.commands.view.before_training import before_training
from finetune.commands.view.encoder import Encoder
from finetune.commands.view.hidden_words import hidden_words
from finetune.commands.view.parts import HeadWeights, Inside, MarkedSentence
from finetune.commands.view.token_inputs import SEGMENTS, embedding_table, token_inputs
from finetune.commands.view.word_vectors import word_vectors
from finetune.data.characters import shown_jamo
from finetune.errors import UserError
from finetune.models.families import FAMILIES, takes_segments

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PART = "\ufffd"  # what a decoder gives for bytes that are a part of a character
MOST_TOKENS = 64
MOST_WEIGHTS = 600_000  # attention weights on a page
EXAMPLE = ("The ferry left the bank of the river.", "It carried money to the bank.")


def look(encoder: Encoder, texts: Sequence[str], word: str, sentences: Sequence[MarkedSentence]) -> Inside:
    """The encoder's inside for a text or a pair, and the vectors of a word in sentences.

    Raises UserError for an empty text, and for more tokens than a page can show.
    """
    inputs = encode_text(encoder, texts)
    ids = inputs["input_ids"][0].tolist()
    with torch.inference_mode():
        output = encoder.model(**inputs, output_attentions=True, output_hidden_states=True)
    if not output.attentions:
        raise UserError(f"{encoder.name}: its family returns no attention weights", "Choose another encoder")
    kind = encoder.model.config.model_type
    tokens_of = partial(shown_tokens, encoder.tokenizer)
    read = token_inputs(encoder.model, encoder.tokenizer, texts, inputs)
    table = embedding_table(encoder.model, SEGMENTS)
    return Inside(
        model=encoder.name,
        family=FAMILIES[kind].title if kind in FAMILIES else kind,
        tokens=tokens_of(ids),
        token_segments=inputs["token_type_ids"][0].tolist() if "token_type_ids" in inputs else [0] * len(ids),
        segments=0 if table is None else table.num_embeddings,
        inputs=read,
        hidden=hidden_words(encoder, inputs, read.numbers, tokens_of),
        before=before_training(encoder, inputs, output),
        attention=HeadWeights(
            weights=torch.cat(output.attentions).numpy(),
            separators=np.array(ids) == encoder.tokenizer.sep_token_id,
            special=np.array(read.numbers) < 0,
        ),
        word=word_vectors(encoder.model, encoder.tokenizer, word, sentences),
    )


def encode_text(encoder: Encoder, texts: Sequence[str]) -> dict[str, Any]:
    """A text or a pair as tensors of one sequence. Raises UserError for an empty one, and for too many tokens."""
    if not all(text.strip() for text in texts):
        raise UserError("the text is empty", "Give it at least one word")
    encoded = encoder.tokenizer(*texts, return_tensors="pt", verbose=False)
    config = encoder.model.config
    most = min(MOST_TOKENS, int((MOST_WEIGHTS / config.num_hidden_layers / config.num_attention_heads) ** 0.5))
    if (tokens := encoded["input_ids"].shape[1]) > most:
        raise UserError(f"the text has {tokens} tokens; the page shows at most {most} of this encoder", "Shorten it")
    names = ["input_ids", "attention_mask", *["token_type_ids"] * takes_segments(config)]
    return {name: encoded[name] for name in names if name in encoded}


def shown_tokens(tokenizer: "PreTrainedTokenizerBase", ids: Sequence[int]) -> list[str]:
    """Tokens as a reader knows them: the bytes of byte-level BPE as characters, `▁` and `Ġ` for the space before, and
    bytes that are a part of a character as `<F0 9F>`.
    """
    tokens = [str(token) for token in tokenizer.convert_ids_to_tokens(list(ids))]
    if '"ByteLevel"' not in tokenizer.backend_tokenizer.to_str():
        return [shown_jamo(token) for token in tokens]
    decoded = [tokenizer.decode([number]) for number in ids]
    return [
        _bytes_of(token) if PART in text else shown_jamo(text.replace(" ", "Ġ"))
        for token, text in zip(tokens, decoded, strict=True)
    ]


def _bytes_of(token: str) -> str:
    codes = {letter: code for code, letter in bytes_to_unicode().items()}
    return f"<{' '.join(f'{codes[letter]:02X}' if letter in codes else letter for letter in token)}>"
