"""Looks inside an encoder: read this file first."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.convert_slow_tokenizer import bytes_to_unicode

from finetune.commands.view.before_training import before_training
from finetune.commands.view.encoder import Encoder
from finetune.commands.view.hidden_words import hidden_words
from finetune.commands.view.masks import masked_batch, under_masks
from finetune.commands.view.parts import Embeddings, HeadWeights, Inside, MarkedSentence, Outputs, RunHead
from finetune.commands.view.recording import attention_steps
from finetune.commands.view.stream import residual_stream
from finetune.commands.view.token_inputs import token_inputs
from finetune.commands.view.word_vectors import word_vectors
from finetune.data.characters import shown_jamo
from finetune.errors import UserError
from finetune.inference.predictor import Predictor, load_predictor
from finetune.models.families import FAMILIES, is_left_to_right, positions_before, takes_segments
from finetune.runs.lookup import named_run

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_CHARACTERS = 80  # of an answer
PART = "\ufffd"  # what a decoder gives for bytes that are a part of a character
MOST_TOKENS = 64
MOST_WEIGHTS = 600_000  # attention weights on a page
MOST_POSITIONS = 64


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
    weights = torch.cat(output.attentions).numpy()
    untrained = any(name.startswith("pooler") for name in encoder.untrained)
    pooler = None if untrained else getattr(output, "pooler_output", None)
    kind = encoder.model.config.model_type
    batch, real = masked_batch(encoder.model, encoder.tokenizer, texts)
    tokens_of = partial(shown_tokens, encoder.tokenizer)
    rows = [tokens_of(row) for row in batch["input_ids"].tolist()]
    read = token_inputs(encoder.model, encoder.tokenizer, texts, inputs)
    return Inside(
        model=encoder.name,
        family=FAMILIES[kind].title if kind in FAMILIES else kind,
        left_to_right=is_left_to_right(encoder.model.config),
        tokens=tokens_of(ids),
        token_segments=inputs["token_type_ids"][0].tolist() if "token_type_ids" in inputs else [0] * len(ids),
        inputs=read,
        hidden=hidden_words(encoder, inputs, read.numbers, tokens_of),
        before=before_training(encoder, inputs, output),
        head=run_head(encoder.name, texts, encoder.out),
        attention=HeadWeights(
            weights=weights,
            separators=np.array(ids) == encoder.tokenizer.sep_token_id,
            special=np.array(read.numbers) < 0,
        ),
        steps=attention_steps(encoder.model, inputs),
        stream=residual_stream(encoder.model, inputs),
        masks=under_masks(encoder.model, batch, real, rows),
        outputs=Outputs(
            sequence=output.last_hidden_state[0].numpy(), pooled=None if pooler is None else pooler[0].numpy()
        ),
        embeddings=_embeddings(encoder),
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
    if not _is_byte_level(tokenizer):
        return [shown_jamo(token) for token in tokens]
    decoded = [tokenizer.decode([number]) for number in ids]
    return [
        _bytes_of(token) if PART in text else shown_jamo(text.replace(" ", "Ġ"))
        for token, text in zip(tokens, decoded, strict=True)
    ]


def _is_byte_level(tokenizer: "PreTrainedTokenizerBase") -> bool:
    """Whether its tokens are bytes, written as letters: the newline is Ċ."""
    return tokenizer.is_fast and '"ByteLevel"' in tokenizer.backend_tokenizer.to_str()


def _bytes_of(token: str) -> str:
    codes = {letter: code for code, letter in bytes_to_unicode().items()}
    return f"<{' '.join(f'{codes[letter]:02X}' if letter in codes else letter for letter in token)}>"


def _embeddings(encoder: Encoder) -> Embeddings:
    """Evenly chosen positions, and all segments."""
    parts = getattr(encoder.model, "embeddings", None)
    places_of = getattr(parts, "position_embeddings", None)
    positions = _table(places_of)
    segments = _table(getattr(parts, "token_type_embeddings", None))
    places: list[int] = []
    if positions is not None:
        positions = positions[positions_before(places_of) :]
        places = sorted({round(place) for place in np.linspace(0, len(positions) - 1, MOST_POSITIONS)})
        positions = positions[places]
    return Embeddings(places=places, positions=positions, segments=segments)


def _table(layer: Any) -> np.ndarray | None:
    return layer.weight.detach().numpy() if isinstance(layer, torch.nn.Embedding) else None


def run_head(name: str, texts: Sequence[str], out: Path) -> RunHead | None:
    """The head of a run and its answer for a text or a pair; None for a model of no run."""
    run = named_run(name, out)
    record = None if run is None else run.record()
    if record is None:
        return None
    try:
        predictor = load_predictor(name, out=out)
    except UserError:  # its task is in a file that is not here
        return None
    model = predictor.torch_engine.model
    head = model.head
    return RunHead(
        task=predictor.task.name,
        reads=sorted(head.inputs),
        pooling=model.backbone.pooling if model.pooled else "family",
        answer=[] if head.pretrains else _answer(predictor, texts),
        began_random=not record.recipe.get("keep_labels"),  # which keeps an earlier run's head
    )


def _answer(predictor: Predictor, texts: Sequence[str]) -> list[tuple[str, str]]:
    """What is predicted, by column; nothing where these texts are no row of the task."""
    try:
        cells = predictor.predict([tuple(texts) if len(texts) > 1 else texts[0]])[0]
    except UserError:
        return []
    return [] if cells.get("error") else [(column, _shown(value)) for column, value in cells.items()]


def _shown(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
