"""Encodes words as features: windows over sentences or documents, in which each word's first sub-token is labelled."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from finetune.models.feature import Feature
from finetune.models.tokenizers.encoding import most_context, window_starts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class WordsRow(Protocol):
    """A row of words, with a gold for each of them or None.

    It may have a `document`, and a running `text` with the place of each word's first character in `starts`.
    """

    @property
    def words(self) -> tuple[str, ...]:
        """In their order."""

    @property
    def gold(self) -> Sequence[Any] | None:
        """One for each word."""

    @property
    def input(self) -> str:
        """The text, or the words with spaces between them."""


def encode_words(
    rows: Sequence[WordsRow],
    tokenizer: "PreTrainedTokenizerBase",
    max_length: int,
    *,
    label: Callable[[Any], int | float],
    documents: bool = False,
) -> list[Feature]:
    """Windows over sentences or `documents`; each word's first sub-token is labelled in exactly one window.

    A feature reads those first sub-tokens; its `note` is an array `(words, 2)`: how many rows after the feature's own,
    and the number of the word.
    `label` makes a number of a word's gold.
    """
    units = list(_units(rows, documents=documents))
    texts = [" ".join(rows[row].input for row in unit) for unit in units]
    encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    has_segments = "token_type_ids" in tokenizer.model_input_names
    features = []
    for unit, ids, offsets in zip(units, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        words = np.array([(row, word) for row in unit for word in range(len(rows[row].words))])
        if _text(rows[unit[0]]):
            ids = np.asarray(ids, dtype=np.int64)
            words, first = _in_text(words, [rows[row] for row in unit], offsets)
        else:
            lengths = [len(word) for row in unit for word in rows[row].words]
            ids, first = _first_tokens(lengths, ids, offsets, unknown=tokenizer.unk_token_id)
        for start, end, owned in owning_windows(first, len(ids), max_length - 2):
            read = words[owned]
            features.append(
                Feature(
                    row=int(read[0, 0]),
                    input_ids=[tokenizer.cls_token_id, *ids[start:end].tolist(), tokenizer.sep_token_id],
                    token_type_ids=[0] * (end - start + 2) if has_segments else None,
                    label=_labels(read, rows, label),
                    reads=(first[owned] - start + 1).tolist(),
                    note=read - [read[0, 0], 0],
                )
            )
    return features


def _text(row: WordsRow) -> str:
    return getattr(row, "text", "")


def same_document(before: WordsRow, row: WordsRow) -> bool:
    """Whether two rows are of one document, and not running texts."""
    first, second = ("" if _text(one) else getattr(one, "document", "") for one in (before, row))
    return bool(first) and first == second


def _units(rows: Sequence[WordsRow], *, documents: bool) -> Iterator[list[int]]:
    """Numbers of the rows that share windows."""
    begin = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or not (documents and same_document(rows[end - 1], rows[end])):
            yield list(range(begin, end))
            begin = end


def _labels(
    read: np.ndarray, rows: Sequence[WordsRow], label: Callable[[Any], int | float]
) -> list[int | float] | None:
    golds = [rows[row].gold for row, _ in read]
    if any(gold is None for gold in golds):
        return None
    return [label(gold[word]) for gold, (_, word) in zip(golds, read, strict=True) if gold is not None]


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


def _first_tokens(
    lengths: Sequence[int], ids: Sequence[int], offsets: Sequence[tuple[int, int]], *, unknown: int
) -> tuple[np.ndarray, np.ndarray]:
    """Token ids, and the index of each word's first token, for words of these lengths with a space between them.

    A word that the tokenizer drops (a lone control character) becomes an unknown token.
    """
    ends = np.cumsum(np.asarray(lengths) + 1) - 1  # a token that is only the space before a word belongs to that word
    owner = np.searchsorted(ends, [end - 1 for _, end in offsets], side="right")
    dropped = np.setdiff1d(np.arange(len(lengths)), owner)
    place = np.searchsorted(owner, dropped)
    owner = np.insert(owner, place, dropped)
    kept = np.insert(np.asarray(ids, dtype=np.int64), place, unknown)
    return kept, np.searchsorted(owner, np.arange(len(lengths)))


def _in_text(
    words: np.ndarray, rows: Sequence[Any], offsets: Sequence[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """The words of a running text in which a token begins, `(words, 2)` as given, and the index of that token.

    Of words that share a token (characters, mostly) the first has it, and the others have none of their own.
    """
    (row,) = rows  # each text is a separate unit
    owner = np.full(len(row.text) + 1, -1)
    for number, (start, word) in enumerate(zip(row.starts, row.words, strict=True)):
        owner[start : start + len(word)] = number if word.strip() else -1
    first: dict[int, int] = {}
    for place, (start, end) in enumerate(offsets):
        for number in owner[start:end].tolist():
            if number >= 0:
                first.setdefault(number, place)
                break
    chosen = sorted(first)
    return words[chosen], np.array([first[number] for number in chosen], dtype=np.int64)
