"""Encodes words as features: windows over sentences or documents, in which each word's first sub-token is labelled."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.models.feature import Feature
from finetune.models.tokenizers.encoding import most_context, window_starts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def encode_words(
    rows: Sequence[Any],
    tokenizer: "PreTrainedTokenizerBase",
    max_length: int,
    *,
    label: Callable[[Any], int | float],
    documents: bool = False,
) -> list[Feature]:
    """Windows over sentences or `documents`; each word's first sub-token is labelled in exactly one window.

    Rows have `words`, a `gold` for each of them or None, an `input` and the (start, end) of each word in it, `places`;
    `document` and the running `text` that is their input may be empty. A feature reads those first sub-tokens; its
    `note` is an array `(words, 2)`: how many rows after the feature's own, and the number of the word. `label` makes a
    number of a word's gold.
    """
    units = list(_units(rows, documents=documents))
    texts = [" ".join(rows[row].input for row in unit) for unit in units]
    encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    has_segments = "token_type_ids" in tokenizer.model_input_names
    features = []
    for unit, text, ids, offsets in zip(units, texts, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        owners = _owners([rows[row] for row in unit], text, np.array(offsets, dtype=np.int64).reshape(-1, 2))
        words = np.array([(row, word) for row in unit for word in range(len(rows[row].words))])
        if not rows[unit[0]].text:  # a word that the tokenizer drops (a lone control character) is an unknown token
            dropped = np.setdiff1d(np.arange(len(words)), owners)
            places = np.searchsorted(owners, dropped)
            ids, owners = np.insert(ids, places, tokenizer.unk_token_id), np.insert(owners, places, dropped)
        numbers, first = np.unique(owners, return_index=True)
        words, first, ids = words[numbers[numbers >= 0]], first[numbers >= 0], np.asarray(ids, dtype=np.int64)
        for start, end, owned in owning_windows(first, len(ids), max_length - 2):
            read = words[owned]
            golds = [rows[row].gold for row in read[:, 0]]
            features.append(
                Feature(
                    row=int(read[0, 0]),
                    input_ids=[tokenizer.cls_token_id, *ids[start:end].tolist(), tokenizer.sep_token_id],
                    token_type_ids=[0] * (end - start + 2) if has_segments else None,
                    label=None if None in golds else [label(golds[n][word]) for n, word in enumerate(read[:, 1])],
                    reads=(first[owned] - start + 1).tolist(),
                    note=read - [read[0, 0], 0],
                )
            )
    return features


def _owners(rows: Sequence[Any], text: str, offsets: np.ndarray) -> np.ndarray:
    """The number of the word in which each token begins `(tokens,)`, of the words of these rows; -1 for none.

    A token that is only the space before a word belongs to that word, but not in a running text. Of words that share a
    token (characters, mostly) the first has it.
    """
    owner = np.full(len(text) + 2, -1)  # of each character: number 1 is the first, as if the text began with a space
    number = begin = 0
    for row in rows:
        for (start, end), word in zip(row.places, row.words, strict=True):
            if not row.text:
                owner[begin + start : begin + end + 1] = number
            elif word.strip():
                owner[start + 1 : end + 1] = number
            number += 1
        begin += len(row.input) + 1
    owned = np.append(np.flatnonzero(owner >= 0), len(owner) - 1)
    start, end = np.minimum(offsets[:, 0] + 1, offsets[:, 1]), offsets[:, 1]  # a token may have no character
    at = owned[np.searchsorted(owned[:-1], start)]
    return np.where(at <= end, owner[at], -1)


def same_document(before: Any, row: Any) -> bool:
    """Whether two rows are of one document, and not running texts."""
    return bool(row.document) and row.document == before.document and not (row.text or before.text)


def _units(rows: Sequence[Any], *, documents: bool) -> Iterator[list[int]]:
    """Numbers of the rows that share windows."""
    begin = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or not (documents and same_document(rows[end - 1], rows[end])):
            yield list(range(begin, end))
            begin = end


def owning_windows(first: np.ndarray, tokens: int, size: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """(start, end, indexes of words) of windows that overlap by a quarter; each word is in the one where its first
    token has most context. `first` `(words,)` is the index of each word's first token.
    """
    starts = window_starts(tokens, size=size, step=size - size // 4)
    owner = most_context(first, starts, tokens=tokens, size=size)
    for window, start in enumerate(starts):
        owned = np.flatnonzero(owner == window)
        if len(owned):
            yield start, min(start + size, tokens), owned
