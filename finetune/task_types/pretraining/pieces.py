"""The tokens of documents, in memory, and pieces of them that fit the encoder, as features built when asked for."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.documents import Document
from finetune.models.feature import Feature, LazyFeatures
from finetune.runs.events import Watcher, Working, unwatched
from finetune.task_types.pretraining.vocabulary import PieceVocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

CHARS_AT_ONCE, LEAST_CHARS = 1 << 20, 100  # characters that are tokenized together, and those that any line counts
SPECIAL, STARTS, INSIDE = 0, 1, 2  # units: a special token, the first token of a word, another one of it
WASTED = 8  # a piece ends with a line if that wastes at most this part of it
TAIL = 4  # what exceeds a piece by less than this part of it does not become a piece by itself


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """The tokens of documents without special tokens: `ids` and `starts` (whether each starts a word), `(tokens,)`, 3
    to 5 bytes each; in dev also `offsets`, the characters of its line that each is of, `(tokens, 2)`.

    Line i has the tokens [lines[i] : lines[i + 1]], and document i the lines [documents[i] : documents[i + 1]].
    """

    ids: np.ndarray
    starts: np.ndarray
    lines: np.ndarray
    documents: np.ndarray
    offsets: np.ndarray

    @property
    def bounds(self) -> np.ndarray:
        """Document i has the tokens [bounds[i] : bounds[i + 1]]: `(documents + 1,)`."""
        return np.asarray(self.lines[self.documents])


def tokens_of(
    documents: Sequence[Document],
    tokenizer: "PreTrainedTokenizerBase",
    watch: Watcher = unwatched,
    *,
    with_offsets: bool = False,
) -> Tokens:
    """The tokens of each line of documents, by a fast tokenizer."""
    lines = [line for document in documents for line in document.lines]
    batches = np.cumsum([len(line) + LEAST_CHARS for line in lines]) // CHARS_AT_ONCE
    ids, kind = list[np.ndarray](), np.uint32 if len(tokenizer) > 1 << 16 else np.uint16
    starts, lengths, offsets = list[np.ndarray](), [0], list[np.ndarray]()
    for _, group in groupby(range(len(lines)), batches.__getitem__):
        numbers = list(group)
        watch(Working("tokenizing text", numbers[0], len(lines)))
        batch = [lines[number] for number in numbers]
        encoded = tokenizer.backend_tokenizer.encode_batch(batch, add_special_tokens=False)
        lengths += map(len, encoded)
        ids.append(np.array([number for line in encoded for number in line.ids], kind))
        words = [(place, word) for place, line in enumerate(encoded) for word in line.word_ids]
        starts.append(np.asarray(np.diff(np.reshape(words, (-1, 2)), axis=0, prepend=-1).any(axis=1)))
        if with_offsets:
            offsets.append(np.array([pair for line in encoded for pair in line.offsets], np.int32).reshape(-1, 2))
    return Tokens(
        ids=np.concatenate(ids) if ids else np.zeros(0, kind),
        starts=np.concatenate(starts) if starts else np.zeros(0, bool),
        lines=np.cumsum(lengths),
        documents=np.cumsum([0, *(len(document.lines) for document in documents)]),
        offsets=np.concatenate(offsets) if offsets else np.zeros((0, 2), np.int32),
    )


def pieces(tokens: Tokens, size: int) -> np.ndarray:
    """Cuts all documents into pieces of at most `size` tokens: the document, the first token and the end of each,
    `(pieces, 3)`.

    They end with a line where that wastes little, else before a word, and within a word only if it has more than `size`
    tokens. Where little would be left for the last piece, the last two are about equally long.
    """
    found = array("q")
    for row, (start, end) in enumerate(pairwise(tokens.bounds.tolist())):
        while start < end:
            cut = _cut(tokens, start, end, size)
            found.extend((row, start, cut))
            start = cut
    return np.frombuffer(found, np.int64).reshape(-1, 3) if found else np.zeros((0, 3), np.int64)


def _cut(tokens: Tokens, start: int, end: int, size: int) -> int:
    """Where the piece that begins at `start` ends, in a document that ends at `end`."""
    left = end - start
    limit = start + (left if left <= size else -(-left // 2) if left <= size + size // TAIL else size)
    if limit == end:
        return end
    line = int(tokens.lines[np.searchsorted(tokens.lines, limit, side="right") - 1])
    if line > start and limit - line <= size // WASTED:
        return line
    full = start + min(left, size)
    for cut in (limit, full):  # the second where a word fills half of the rest
        while cut > start and cut < len(tokens.ids) and not tokens.starts[cut]:
            cut -= 1
        if cut > start:
            return cut
    return full


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """The note of a feature: the unit of each token `(tokens,)` int8, and the borders of its lines, `(borders,)`.

    These are the tokens that start lines, and what follows the text where a line ends with it.
    """

    units: np.ndarray
    lines: np.ndarray
    vocabulary: PieceVocabulary


class PieceFeatures(LazyFeatures):
    """A feature for each piece of at most `size` tokens, between special tokens and without labels; its note is a
    `Piece`.
    """

    def __init__(self, tokens: Tokens, vocabulary: PieceVocabulary, *, size: int) -> None:
        self.tokens = tokens
        self.vocabulary = vocabulary
        self.rows, self.starts, self.ends = pieces(tokens, size).T
        self.lengths = self.ends - self.starts + vocabulary.single.special_tokens
        self.truncated = np.zeros(len(self.rows), bool)

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        begin, end = int(self.starts[index]), int(self.ends[index])
        template, own = self.vocabulary.single, self.tokens.ids[begin:end]
        ids, segments = template.fill(own, own[:0])
        special, before = self.vocabulary.special[own], len(template.before)
        units = np.full(len(ids), SPECIAL, np.int8)
        text = units[before : before + len(own)]
        text[:] = np.where(self.tokens.starts[begin:end], STARTS, INSIDE)
        text[0] = STARTS
        text[1:][special[:-1]] = STARTS  # what follows the name of a special token in a text begins a word
        text[special] = SPECIAL
        first, last = np.searchsorted(self.tokens.lines, (begin, end + 1))
        lines = np.unique(self.tokens.lines[first:last]) - begin + before
        note = Piece(units=units, lines=lines, vocabulary=self.vocabulary)
        return Feature(row=int(self.rows[index]), input_ids=ids, token_type_ids=segments, note=note)
