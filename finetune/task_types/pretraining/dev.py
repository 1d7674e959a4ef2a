"""Features of dev: the tokens of words that were chosen by the text alone, and pairs of texts.

All pieces of a document with a chosen word are read, so that each is scored once, whatever the tokenizer.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from finetune.data.documents.document import Document
from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.chosen_words import ChosenWord, chosen_words, random_bits, words_of
from finetune.task_types.pretraining.objectives import NEXT, WORDS
from finetune.task_types.pretraining.pairs import IS_NEXT, IS_RANDOM, pair_feature
from finetune.task_types.pretraining.pieces import INSIDE, STARTS, Piece, pieces
from finetune.task_types.pretraining.tokens import Tokens
from finetune.task_types.pretraining.vocabulary import PieceVocabulary

PAIRS = 4  # of a document, at most
NONE = -1  # in place of the number of a word or token
NO_IDS: np.ndarray = np.zeros(0, np.int64)
NOTHING = (NO_IDS, np.zeros(0, np.int8), np.zeros((0, 2), np.int64), NO_IDS)  # the tokens of no line


@dataclass(frozen=True, kw_only=True, eq=False)
class DevPiece:
    """The note of a dev feature: the first and the last chosen word that each label is of, `(labels, 2)`, and how many
    words of the text, chosen or not, its token is of, `(labels,)`; or the number of its pair.
    """

    words: np.ndarray
    shared: np.ndarray
    vocabulary: PieceVocabulary
    pair: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class DevTokens:
    """The tokens of some documents with their units, `(tokens,)`, the first and the last chosen word (or NONE) that
    each is of, `(tokens, 2)`, and how many words of the text it is of, `(tokens,)`: of several, as of ideographs.
    """

    tokens: Tokens
    units: np.ndarray
    words: np.ndarray
    shared: np.ndarray

    def document(self, number: int, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and units of the lines [begin : end] of a document."""
        first = int(self.tokens.documents[number])
        tokens = slice(int(self.tokens.lines[first + begin]), int(self.tokens.lines[first + end]))
        return self.tokens.ids[tokens], self.units[tokens]


def dev_tokens(documents: Sequence[Document], vocabulary: PieceVocabulary) -> DevTokens:
    """Tokenizes documents, in memory."""
    backend, lines = vocabulary.tokenizer.backend_tokenizer, list[Any]()
    for document in documents:
        encoded = backend.encode_batch(list(document.lines), add_special_tokens=False)
        numbers = {word: index for index, word in enumerate(chosen_words(document))}
        of_lines = defaultdict[int, list[ChosenWord]](list)
        for word in words_of(document):
            of_lines[word.line].append(word)
        lines.extend(_line(one, of_lines[number], numbers, vocabulary) for number, one in enumerate(encoded))
    ids, units, words, shared = (np.concatenate(each) for each in zip(NOTHING, *lines, strict=True))
    tokens = Tokens(
        ids=ids,
        starts=units == STARTS,
        lines=np.cumsum([0, *(len(line[0]) for line in lines)]),
        documents=np.cumsum([0, *(len(document.lines) for document in documents)]),
    )
    return DevTokens(tokens=tokens, units=units, words=words, shared=shared)


def word_features(
    tokens: DevTokens, vocabulary: PieceVocabulary, *, size: int, masked: bool, paired: bool
) -> list[Feature]:
    """A feature for each piece of at most `size` tokens with a chosen word: the word's tokens are `masked` and read, or
    read at the position before them. `paired`: the task has pairs too, and these have none.
    """
    found, runs, before = [], pieces(tokens.tokens, size), vocabulary.single.before
    for row, start, end in zip(runs.row.tolist(), runs.start.tolist(), runs.end.tolist(), strict=True):
        words = tokens.words[start:end]
        chosen = words[:, 0] != NONE
        positions = np.flatnonzero(chosen)
        if not len(positions):
            continue
        ids = tokens.tokens.ids[start:end]
        given = np.where(chosen, vocabulary.mask_id, ids) if masked else ids
        inputs = np.concatenate([before, given, vocabulary.single.after]).astype(np.int32)
        found.append(
            Feature(
                row=row,
                input_ids=inputs,
                token_type_ids=np.zeros(len(inputs), np.int8) if vocabulary.single.segments else None,
                reads=positions + len(before) - (0 if masked else 1),
                label={WORDS: ids[positions]} | ({NEXT: IGNORED} if paired else {}),
                note=DevPiece(
                    words=words[positions],
                    shared=tokens.shared[start:end][positions],
                    vocabulary=vocabulary,
                ),
            )
        )
    return found


def pair_features(
    documents: Sequence[Document], tokens: DevTokens, vocabulary: PieceVocabulary, *, size: int
) -> list[Feature]:
    """A feature for each pair of texts in `pairs_of` the documents, read at its first position, which has no label: a
    text and what follows it, or what another document has in its second half.
    """
    several = [number for number, document in enumerate(documents) if len(document.lines) > 1]
    note = Piece(units=tokens.units[:0], lines=tokens.units[:0], vocabulary=vocabulary)
    found = []
    for row in several:
        others = [number for number in several if number != row]
        for pair, (cut, is_next) in enumerate(pairs_of(documents[row])):
            bits = random_bits(documents[row], pair) >> 1  # the lowest bit is the label
            source = others[bits % len(others)] if others else row
            lines = len(documents[source].lines)
            made = pair_feature(
                Feature(row=row, note=note),
                tokens.document(row, 0, cut),
                tokens.document(row, cut, len(documents[row].lines)),
                tokens.document(source, max(1, lines // 2), lines),
                size=size,
                label=IS_NEXT if is_next else IS_RANDOM,
                share=(bits >> 32) / 2**31,
            )
            unread = DevPiece(words=np.array([[NONE, NONE]]), shared=np.array([0]), vocabulary=vocabulary, pair=pair)
            found.append(replace(made, reads=[0], label={WORDS: [IGNORED], **made.label}, note=unread))
    return found


def pairs_of(document: Document) -> list[tuple[int, bool]]:
    """The pairs of a document: the line with which the second text begins, and whether it is the document's own.

    They are at most PAIRS line ends, evenly spread; by the text alone half of them on average are as they are in it.
    """
    count = min(PAIRS, len(document.lines) - 1)
    cuts = [1 + (len(document.lines) - 1) * number // count for number in range(count)]
    return [(cut, random_bits(document, number) % 2 == 0) for number, cut in enumerate(cuts)]


def _line(
    encoded: Any, words: Sequence[ChosenWord], chosen: Mapping[ChosenWord, int], vocabulary: PieceVocabulary
) -> tuple[np.ndarray, ...]:
    """Of a line's tokens the ids, units and chosen words, which special tokens are never of, and how many words of the
    line each is of.
    """
    ids = np.array(encoded.ids, np.int64)
    numbers = np.array([NONE if word is None else word for word in encoded.word_ids], np.int64)
    units = np.where(np.diff(numbers, prepend=NONE - 1) != 0, STARTS, INSIDE).astype(np.int8)
    starts, ends = np.array(encoded.offsets, np.int64).reshape(-1, 2).T
    owners = np.full((len(ids), 2), NONE, np.int64)
    for word in words:
        if (index := chosen.get(word)) is not None:
            tokens = (starts < word.end) & (ends > word.start)
            owners[tokens & (owners[:, 0] == NONE), 0] = index
            owners[tokens, 1] = index
    owners[vocabulary.special[ids]] = NONE
    before = np.searchsorted([word.end for word in words], starts, side="right")
    shared = np.searchsorted([word.start for word in words], ends) - before
    return ids, units, owners, shared
