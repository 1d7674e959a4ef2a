"""Pieces of a token file as features, built when they are asked for."""

import numpy as np

from finetune.models.feature import Feature
from finetune.models.feature_arrays import LazyFeatures
from finetune.task_types.pretraining.piece import INSIDE, SPECIAL, STARTS, Piece, PieceVocabulary
from finetune.task_types.pretraining.pieces import Pieces
from finetune.task_types.pretraining.tokens import TokenFile


class PieceFeatures(LazyFeatures):
    """A feature for each piece, between special tokens and without labels; its note is a `Piece`."""

    def __init__(self, tokens: TokenFile, pieces: Pieces, vocabulary: PieceVocabulary) -> None:
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
        text[:] = np.where(self.tokens.word_starts(begin, end), STARTS, INSIDE)
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
