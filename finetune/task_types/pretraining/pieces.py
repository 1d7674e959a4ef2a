"""The tokens of documents, in memory, and pieces of them that fit the encoder, as features built when asked for."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from finetune.data.documents import Document
from finetune.errors import UserError
from finetune.models.feature import Feature, LazyFeatures
from finetune.models.tokenizers.encoding import Template, template_of
from finetune.runs.events import Watcher, Working, unwatched

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

WORDS = "words"  # the name of the labels of words: one id for each position that is read
NEXT = "next"  # the name of the labels of pairs; 0: the second text follows the first; 1: it does not
CHARS_AT_ONCE, LEAST_CHARS = 1 << 20, 100  # characters that are tokenized together, and those that any line counts
SPECIAL, STARTS, INSIDE = 0, 1, 2  # units: a special token, the first token of a word, another one of it
WASTED = 8  # a piece ends with a line if that wastes at most this part of it
TAIL = 4  # what exceeds a piece by less than this part of it does not become a piece by itself


@dataclass(frozen=True, kw_only=True, eq=False)
class PieceVocabulary:
    """A tokenizer with its templates of one text and of a pair, the ids of [MASK] and of unknown words, and `ordinary`
    ids, of tokens that are not special.

    `special` says of each id whether it is of a special token, `(vocabulary,)`, which a text that names it has too. An
    unknown word is a word, and not special.
    """

    tokenizer: "PreTrainedTokenizerBase"
    single: Template
    pair: Template
    mask_id: int
    unknown_id: int | None
    ordinary: np.ndarray
    special: np.ndarray


def vocabulary_of(tokenizer: "PreTrainedTokenizerBase") -> PieceVocabulary:
    """A fast tokenizer's vocabulary. Raises UserError where it is not a fast one or has no [MASK]."""
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise UserError("the tokenizer of this encoder is not a fast one", "Name another model, or tokenizer=FOLDER")
    if tokenizer.mask_token_id is None:
        raise UserError(
            "the tokenizer of this model has no [MASK] token, which pre-training needs",
            "Train one with `finetune tokenizer`, or name another model",
        )
    numbers = np.array(sorted(tokenizer.get_vocab().values()))
    names = np.isin(np.arange(numbers[-1] + 1), tokenizer.all_special_ids)
    return PieceVocabulary(
        tokenizer=tokenizer,
        single=template_of(tokenizer, pair=False),
        pair=template_of(tokenizer),
        mask_id=int(tokenizer.mask_token_id),
        unknown_id=tokenizer.unk_token_id,
        ordinary=numbers[~names[numbers]],
        special=names & (np.arange(len(names)) != tokenizer.unk_token_id),
    )


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

    def of_lines(self, document: int, begin: int, end: int | None = None) -> np.ndarray:
        """The ids of lines [begin : end] of a document, by default to its end."""
        first, last = self.documents[document : document + 2]
        return self.ids[self.lines[first + begin] : self.lines[last if end is None else first + end]]


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
    kind, lengths = np.uint32 if len(tokenizer) > 1 << 16 else np.uint16, [0]
    ids, starts, offsets = [np.zeros(0, kind)], [np.zeros(0, bool)], [np.zeros((0, 2), np.int32)]
    for _, group in groupby(range(len(lines)), batches.__getitem__):
        numbers = list(group)
        watch(Working("tokenizing text", numbers[0], len(lines)))
        batch = [lines[number] for number in numbers]
        encoded = tokenizer.backend_tokenizer.encode_batch(batch, add_special_tokens=False)
        lengths += map(len, encoded)
        ids.append(np.array([number for line in encoded for number in line.ids], kind))
        words = [(place, word) for place, line in enumerate(encoded) for word in line.word_ids]
        starts.append(np.any(np.diff(np.reshape(words, (-1, 2)), axis=0, prepend=-1), axis=1))
        if with_offsets:
            offsets.append(np.array([pair for line in encoded for pair in line.offsets], np.int32).reshape(-1, 2))
    return Tokens(
        ids=np.concatenate(ids),
        starts=np.concatenate(starts),
        lines=np.cumsum(lengths),
        documents=np.cumsum([0, *(len(document.lines) for document in documents)]),
        offsets=np.concatenate(offsets),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """The note of a feature: the unit of each token `(tokens,)` int8, and the borders of its lines, `(borders,)`.

    These are the tokens that start lines, and what follows the text where a line ends with it.
    """

    units: np.ndarray
    lines: np.ndarray
    vocabulary: PieceVocabulary


class PieceFeatures(LazyFeatures):
    """A feature for each piece of at most `size` tokens of the documents, between special tokens and without labels;
    its note is a `Piece`.

    Pieces end with a line where that wastes little, else before a word, and within a word only if it has more than
    `size` tokens. Where little would be left for the last piece, the last two are about equally long.
    """

    def __init__(self, tokens: Tokens, vocabulary: PieceVocabulary, *, size: int) -> None:
        self.tokens = tokens
        self.vocabulary = vocabulary
        cuts = array("q")
        for row, (start, end) in enumerate(pairwise(tokens.bounds.tolist())):
            while start < end:
                cuts.extend((row, start, cut := _cut(tokens, start, end, size)))
                start = cut
        self.rows, self.starts, self.ends = np.array(cuts, np.int64).reshape(-1, 3).T
        self.lengths = self.ends - self.starts + vocabulary.single.special_tokens
        self.truncated = np.zeros(len(self.rows), bool)

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        begin, end = int(self.starts[index]), int(self.ends[index])
        template, piece = self.vocabulary.single, self.tokens.ids[begin:end]
        ids, segments = template.fill(piece, piece[:0])
        special, before = self.vocabulary.special[piece], len(template.before)
        units = np.full(len(ids), SPECIAL, np.int8)
        text = units[before : before + len(piece)]
        text[:] = np.where(self.tokens.starts[begin:end], STARTS, INSIDE)
        text[0] = STARTS
        text[1:][special[:-1]] = STARTS  # what follows the name of a special token in a text begins a word
        text[special] = SPECIAL
        first, last = np.searchsorted(self.tokens.lines, (begin, end + 1))
        lines = np.unique(self.tokens.lines[first:last]) - begin + before
        note = Piece(units=units, lines=lines, vocabulary=self.vocabulary)
        return Feature(row=int(self.rows[index]), input_ids=ids, token_type_ids=segments, note=note)


def _cut(tokens: Tokens, start: int, end: int, size: int) -> int:
    """Where the piece that begins at `start` ends, in a document that ends at `end`."""
    left = end - start
    if left <= size:
        return end
    full = start + size
    limit = start + -(-left // 2) if left <= size + size // TAIL else full
    line = int(tokens.lines[np.searchsorted(tokens.lines, limit, side="right") - 1])
    if line > start and limit - line <= size // WASTED:
        return line
    for cut in (limit, full):  # the second where a word fills half of the rest
        while cut > start and not tokens.starts[cut]:
            cut -= 1
        if cut > start:
            return cut
    return full
