"""One word in many sentences: its vector after each layer (Devlin et al. 2019, section 5.3 reads such vectors).

Sentences are ours (words/*.tsv) or the user's: a line is a sentence, or a meaning and a sentence with a tab between.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

from finetune.commands.view.encoder import Encoder
from finetune.data.characters import shown_jamo
from finetune.data.paths import read_small_text
from finetune.data.words.lists import word_list
from finetune.errors import UserError, nearest

MOST_BYTES = 1_000_000  # of a file of sentences
MOST_SENTENCES = 200  # on a page
FEWEST_SENTENCES = 3
DEFAULT_WORD = "bank"
HANGUL = re.compile("[가-힣]")
BUILT_IN = files("finetune.commands.view") / "words"


@dataclass(frozen=True, kw_only=True)
class MarkedSentence:
    """A sentence with the characters of a word in it, and the word's meaning: empty where it is not known, None for a
    sentence that the user typed.
    """

    text: str
    start: int
    end: int
    meaning: str | None = ""


@dataclass(frozen=True, kw_only=True)
class WordVectors:
    """A word in sentences: its row of the word embeddings `(sentences, width)`, which knows no context, and its vector
    after the embeddings and after each layer, `(layers + 1, sentences, width)`; the mean where it has several tokens.
    """

    word: str
    sentences: Sequence[MarkedSentence]
    tokens: Sequence[str]
    context_free: np.ndarray
    layers: np.ndarray


def built_in_words() -> list[str]:
    """The words that have sentences here."""
    return sorted(Path(file.name).stem for file in BUILT_IN.iterdir() if file.name.endswith(".tsv"))


def sentences_of(
    word: str, lines: str | Path | Sequence[str] | None, typed: Sequence[str] = ()
) -> list[MarkedSentence]:
    """The sentences with a word: of a file or of lines, else ours; then the user's own.

    Raises UserError for a file that cannot be read, too few sentences that have the word, and a word that we have not.
    """
    ours, source = built_in_words(), lines if isinstance(lines, str | Path) else "sentences"
    if lines is None and word not in ours:
        raise UserError(
            f"there are no sentences for the word '{word}'",
            f"{nearest(word, ours)}Give a file of some with `sentences`, or choose {', '.join(ours)}",
        )
    if lines is None:
        lines = (BUILT_IN / f"{word}.tsv").read_text(encoding="utf-8").splitlines()
    elif isinstance(lines, str | Path):
        lines = read_small_text(Path(lines), most=MOST_BYTES, encoding="utf-8-sig").splitlines()
    parts = (line.rpartition("\t") if "\t" not in line else line.partition("\t") for line in lines)
    marked_texts = [marked for meaning, _, text in parts if (marked := _marked(text, word, meaning.strip()))]
    if len(marked_texts) < FEWEST_SENTENCES:
        raise UserError(
            f"{source}: {len(marked_texts)} of its lines have the word '{word}'",
            f"Give at least {FEWEST_SENTENCES} sentences with it",
        )
    return [*marked_texts[:MOST_SENTENCES], *filter(None, (_marked(text, word, None) for text in typed))]


def word_of(texts: Sequence[str]) -> str:
    """The word of ours that the texts have, with a particle or without; else one of ours in their script."""
    text, ours = " ".join(texts), built_in_words()
    particles = "|".join(word_list("particles"))
    tokens_of_word = [
        word for word in ours if re.search(rf"(?<!\w){re.escape(word)}(?:{particles})?(?!\w)", text, re.IGNORECASE)
    ]
    korean = [word for word in ours if HANGUL.search(word)] if HANGUL.search(text) else []
    return next(iter([*tokens_of_word, *korean, DEFAULT_WORD]))


def _marked(text: str, word: str, meaning: str | None) -> MarkedSentence | None:
    """None for a sentence without the word, which begins a word there but may have an ending or particle."""
    text = text.strip()
    begins = rf"(?<!\w){re.escape(word)}"
    match = re.search(rf"{begins}(?!\w)", text, re.IGNORECASE) or re.search(begins, text, re.IGNORECASE)
    return match and MarkedSentence(text=text, start=match.start(), end=match.end(), meaning=meaning)


def word_vectors(encoder: Encoder, word: str, sentences: Sequence[MarkedSentence]) -> WordVectors:
    """The vectors of a word in sentences. Raises UserError for a sentence that is too long for the encoder."""
    table = encoder.model.get_input_embeddings().weight.detach()
    free, layers, tokens = [], [], []
    for sentence in sentences:
        encoded = encoder.tokenizer(
            sentence.text, return_tensors="pt", return_offsets_mapping=True, return_token_type_ids=False, verbose=False
        )
        offsets, ids = encoded.pop("offset_mapping")[0].tolist(), encoded["input_ids"][0]
        places = [n for n, (start, end) in enumerate(offsets) if sentence.start < end > start < sentence.end]
        if not places or len(ids) > encoder.tokenizer.model_max_length:
            raise UserError(f"the tokenizer does not find '{word}' in: {sentence.text[:60]}", "Shorten or remove it")
        with torch.inference_mode():
            states = encoder.model(**encoded, output_hidden_states=True).hidden_states
        layers.append(torch.stack([state[0, places].mean(0) for state in states]).numpy())
        free.append(table[ids[places]].mean(0).numpy())
        tokens.append(shown_jamo(" ".join(encoder.tokenizer.convert_ids_to_tokens(ids[places].tolist()))))
    return WordVectors(
        word=word, sentences=sentences, tokens=tokens, context_free=np.stack(free), layers=np.stack(layers, axis=1)
    )
