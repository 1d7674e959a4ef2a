"""Pieces: runs of a document's tokens that fit the encoder, as features that are built when they are asked for."""

from dataclasses import dataclass

import numpy as np

from finetune.models.feature import Feature
from finetune.models.feature_arrays import LazyFeatures
from finetune.task_types.pretraining.tokens import Tokens
from finetune.task_types.pretraining.vocabulary import PieceVocabulary

SPECIAL, STARTS, INSIDE = 0, 1, 2  # units: a special token, the first token of a word, another one of it
WASTED = 8  # a piece ends with a line if that wastes at most this part of it
TAIL = 4  # what exceeds a piece by less than this part of it does not become a piece by itself


@dataclass(frozen=True, kw_only=True, eq=False)
class Pieces:
    """Runs of tokens [start : end], in order; `row` is the document's number.

    All are `(pieces,)`.
    """

    row: np.ndarray
    start: np.ndarray
    end: np.ndarray


def pieces(tokens: Tokens, size: int) -> Pieces:
    """Cuts all documents into pieces of at most `size` tokens.

    They end with a line where that wastes little, else before a word, and within a word only if it has more than `size`
    tokens. Where little would be left for the last piece, the last two are about equally long.
    """
    start, end = tokens.bounds[:-1], tokens.bounds[1:]
    row = np.arange(len(start), dtype=start.dtype)
    found = [(row[:0], start[:0], end[:0])]
    left = end > start
    while left.any():  # the next piece of each document that has more tokens
        row, start, end = row[left], start[left], end[left]
        cut = _cuts(tokens, start, end, size)
        found.append((row, start, cut))
        left = cut < end
        start = cut
    rows, starts, ends = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((starts, rows))
    return Pieces(row=rows[order], start=starts[order], end=ends[order])


def _cuts(tokens: Tokens, start: np.ndarray, end: np.ndarray, size: int) -> np.ndarray:
    """Where the pieces that begin at `start` end, in documents that end at `end`."""
    left = end - start
    most = np.where(left <= size, left, np.where(left <= size + size // TAIL, -(-left // 2), size))
    limit = start + most
    line = tokens.lines[np.searchsorted(tokens.lines, limit, side="right") - 1]
    at_line = (line > start) & (limit - line <= size // WASTED)
    cut = np.where(limit == end, end, np.where(at_line, line, _word_start(tokens, start, limit)))
    none = cut == start  # a word fills half of the rest, or more than a piece
    full = start + np.minimum(left, size)
    cut[none] = _word_start(tokens, start[none], full[none])
    return np.where(cut == start, full, cut)


def _word_start(tokens: Tokens, start: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The last start of a word after `start` and not after `limit`, which is in the document; else `start`."""
    position = limit.copy()
    looking = np.flatnonzero(limit < len(tokens.ids))
    while len(looking):
        looking = looking[~tokens.starts[position[looking]]]
        position[looking] -= 1
        looking = looking[position[looking] > start[looking]]
    return position


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """The note of a feature: the unit of each token `(tokens,)` int8, and the borders of its lines, `(borders,)`.

    These are the tokens that start lines, and what follows the text where a line ends with it.
    """

    units: np.ndarray
    lines: np.ndarray
    vocabulary: PieceVocabulary


class PieceFeatures(LazyFeatures):
    """A feature for each piece, between special tokens and without labels; its note is a `Piece`."""

    def __init__(self, tokens: Tokens, pieces: Pieces, vocabulary: PieceVocabulary) -> None:
        self.tokens = tokens
        self.pieces = pieces
        self.vocabulary = vocabulary
        self.rows = pieces.row
        self.lengths = pieces.end - pieces.start + vocabulary.single.special_tokens
        self.truncated = np.zeros(len(pieces.row), bool)

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        begin, end = int(self.pieces.start[index]), int(self.pieces.end[index])
        before, after = self.vocabulary.single.before, self.vocabulary.single.after
        own = self.tokens.ids[begin:end]
        ids = np.concatenate([before, own, after])
        units = np.full(len(ids), SPECIAL, np.int8)
        text = units[len(before) : len(before) + end - begin]
        text[:] = np.where(self.tokens.starts[begin:end], STARTS, INSIDE)
        text[0] = STARTS
        _mark_special(text, self.vocabulary.special[own])
        first, last = np.searchsorted(self.tokens.lines, np.array([begin, end + 1], self.tokens.lines.dtype))
        lines = np.unique(self.tokens.lines[first:last]) - begin + len(before)
        return Feature(
            row=int(self.rows[index]),
            input_ids=ids,
            token_type_ids=np.zeros(len(ids), np.int8) if self.vocabulary.single.segments else None,
            note=Piece(units=units, lines=lines, vocabulary=self.vocabulary),
        )


def _mark_special(units: np.ndarray, special: np.ndarray) -> None:
    """Marks the names of special tokens in a text; what follows them begins a word."""
    if special.any():
        units[1:][special[:-1]] = STARTS
        units[special] = SPECIAL
