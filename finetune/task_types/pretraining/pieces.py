"""Pieces: runs of a document's tokens that fit the encoder."""

from dataclasses import dataclass

import numpy as np

from finetune.task_types.pretraining.tokens import TokenFile

WASTED = 8  # a piece ends with a line if that wastes at most this part of it
TAIL = 4  # what exceeds a piece by less than this part of it does not become a piece by itself


@dataclass(frozen=True, kw_only=True, eq=False)
class Pieces:
    """Runs of tokens [start : end] of a token file, in order; `row` is the document's number.

    All are `(pieces,)`.
    """

    row: np.ndarray
    start: np.ndarray
    end: np.ndarray


def pieces(tokens: TokenFile, size: int) -> Pieces:
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


def _cuts(tokens: TokenFile, start: np.ndarray, end: np.ndarray, size: int) -> np.ndarray:
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


def _word_start(tokens: TokenFile, start: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The last start of a word after `start` and not after `limit`, which is in the document; else `start`."""
    position = limit.copy()
    looking = np.flatnonzero(limit < len(tokens.ids))
    while len(looking):
        looking = looking[~tokens.starts_word(position[looking])]
        position[looking] -= 1
        looking = looking[position[looking] > start[looking]]
    return position
