"""Dev of pre-training: words that the text alone chose, the same for every tokenizer, and pairs of texts, as features
and as answers.

All pieces of a document with a chosen word are read, so that each is scored once, whatever the tokenizer.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import regex

from finetune.data.documents import Document
from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.draw import IS_NEXT, IS_RANDOM, pair_lengths
from finetune.task_types.pretraining.pieces import NEXT, WORDS, PieceFeatures, PieceVocabulary, Tokens, tokens_of

LETTER = r"[[\p{L}\p{N}]--\p{Han}]"
WORD = regex.compile(rf"\p{{Han}}|\p{{M}}*+{LETTER}[{LETTER}\p{{M}}]*", regex.V1)  # an ideograph is a word, as in BERT
WORD_CHARS = 30  # characters of a word that is chosen
SHARE_OF_WORDS = 0.15  # of a document's words, as of the tokens in training (Devlin et al. 2019, section 3.1)
PAIRS = 4  # of a document, at most
NONE = -1  # in place of the number of a word
CHARACTER = math.log(150_000)  # nats for each character of a word that the vocabulary lacks: any that there is
DIGITS = 6  # of nats, in predictions


@dataclass(frozen=True, slots=True)
class ChosenWord:
    """A word: the characters [start : end] of line number `line` of its document."""

    line: int
    start: int
    end: int
    text: str


def words_of(document: Document) -> list[ChosenWord]:
    """Runs of letters, marks and digits, and single ideographs, in order."""
    return [
        ChosenWord(number, match.start(), match.end(), match.group())
        for number, line in enumerate(document.lines)
        for match in WORD.finditer(line)
    ]


@lru_cache(maxsize=8_192)  # of dev, which is scored again and again
def chosen_words(document: Document) -> tuple[ChosenWord, ...]:
    """A fixed random SHARE_OF_WORDS of a document's words, at least one if it has any, in order."""
    words = [word for word in words_of(document) if word.end - word.start <= WORD_CHARS]
    count = max(1, round(SHARE_OF_WORDS * len(words)))
    ranks = list(_numbers(document, len(words)))
    return tuple(words[index] for index in sorted(sorted(range(len(words)), key=ranks.__getitem__)[:count]))


def random_bits(document: Document, number: int) -> int:
    """64 random bits, which are a function of the document's text and of `number`."""
    return next(_numbers(document, 1, first=number, purpose=b"coin"))


def _numbers(document: Document, count: int, *, first: int = 0, purpose: bytes = b"word") -> Iterator[int]:
    """Numbers of 64 bits by position: hashes, since a generator's may change with its library's version."""
    key = hashlib.sha256(document.text.encode()).digest()
    for number in range(first, first + count):
        hashed = hashlib.blake2b(number.to_bytes(8, "big"), digest_size=8, key=key, person=purpose)
        yield int.from_bytes(hashed.digest(), "big")


@dataclass(frozen=True, kw_only=True, eq=False)
class DevPiece:
    """The note of a dev feature: the first and the last chosen word that each label is of, `(labels, 2)`, and how many
    words of the text, chosen or not, its token is of, `(labels,)`; or the number of its pair.
    """

    words: Any = None
    shared: Any = None
    vocabulary: PieceVocabulary
    pair: int | None = None


def dev_tokens(documents: Sequence[Document], vocabulary: PieceVocabulary) -> Tokens:
    """The tokens of documents, with their characters."""
    return tokens_of(documents, vocabulary.tokenizer, with_offsets=True)


def word_features(
    documents: Sequence[Document],
    tokens: Tokens,
    vocabulary: PieceVocabulary,
    *,
    size: int,
    before: int = 0,
    masked: bool = True,
    chosen: Callable[[Document], Iterable[ChosenWord]] = chosen_words,
) -> list[Feature]:
    """A feature for each piece of at most `size` tokens with a chosen word, whose tokens are the labels: they are
    `masked` and read, or read so many places `before` them, where they are not masked.
    """
    words, shared = _owners(documents, tokens, vocabulary, list(map(set, map(chosen, documents))))
    features, pieces = list[Feature](), PieceFeatures(tokens, vocabulary, size=size)
    for index, (start, end) in enumerate(zip(pieces.starts, pieces.ends, strict=True)):
        positions = start + np.flatnonzero(words[start:end, 0] != NONE)
        if len(positions):
            feature, places = pieces.at(index), positions - start + len(vocabulary.single.before)
            ids = np.array(feature.input_ids)
            if masked and not before:
                ids[places] = vocabulary.mask_id
            note = DevPiece(words=words[positions], shared=shared[positions], vocabulary=vocabulary)
            label = {WORDS: tokens.ids[positions].astype(np.int64)}
            features.append(replace(feature, input_ids=ids, reads=places - before, label=label, note=note))
    return features


def word_labels(document: Document) -> dict[str, Any]:
    """The chosen words and their nats, as in `metrics.words`."""
    words = [word.text for word in chosen_words(document)]
    return {"words": words, "nats": [0.0] * len(words)}


def word_answers(
    logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
) -> list[dict[str, Any]]:
    """For each document, in the form of its labels, the predicted words and the nats of the right ones.

    `logits` are `Head.reduced`: nats and predicted ids. A word with a part that the vocabulary lacks is not predicted,
    and costs CHARACTER nats a character on top of the unknown token's.
    """
    tokens = defaultdict[Any, list[tuple[float, int, int]]](list)
    for reduced, feature in zip(logits, features, strict=True):
        if feature.note.pair is not None:
            continue
        parts = feature.note.words, feature.note.shared, feature.label[WORDS], reduced[:, :2]
        for (first, last), divided, label, (nats, best) in zip(*(part.tolist() for part in parts), strict=True):
            for number in range(first, last + 1):  # of a token of several words, chosen or not, each costs its part
                tokens[feature.row, number].append((nats / divided, label, int(best)))
    vocabulary: Any = features[0].note.vocabulary if features else None
    answers = list[dict[str, Any]]()
    for row, document in enumerate(rows):
        answers.append({"words": [], "nats": []})
        for index, word in enumerate(chosen_words(document)):
            costs, labels, best = ([part[place] for part in tokens[row, index]] for place in range(3))
            lacking = not labels or vocabulary.unknown_id in labels
            text = "" if lacking else word.text if labels == best else vocabulary.tokenizer.decode(best).strip()
            answers[-1]["words"].append(text)
            answers[-1]["nats"].append(round(sum(costs) + lacking * CHARACTER * len(word.text), DIGITS))
    return answers


def pairs_of(document: Document) -> list[tuple[int, bool]]:
    """The pairs of a document: the line with which the second text begins, and whether it is as in the document.

    They are at most PAIRS line ends, evenly spread; by the text alone half of them on average are as they are in it.
    """
    count = min(PAIRS, len(document.lines) - 1)
    cuts = [1 + (len(document.lines) - 1) * number // count for number in range(count)]
    return [(cut, random_bits(document, number) % 2 == 0) for number, cut in enumerate(cuts)]


def pair_features(
    documents: Sequence[Document], tokens: Tokens, vocabulary: PieceVocabulary, *, size: int
) -> Iterator[Feature]:
    """A feature for each pair of texts: a text and what follows it, or what another document has in its second half."""
    several = [number for number, document in enumerate(documents) if len(document.lines) > 1]
    for row in several:
        others = [number for number in several if number != row] or [row]
        for pair, (cut, is_next) in enumerate(pairs_of(documents[row])):
            bits = random_bits(documents[row], pair) >> 1  # the lowest bit is the label
            source = others[bits % len(others)]
            first, rest = tokens.of_lines(row, 0, cut), tokens.of_lines(row, cut)
            other = tokens.of_lines(source, max(1, len(documents[source].lines) // 2))
            lengths = len(first), len(rest), len(other)
            left, right = pair_lengths(*lengths, size=size, share=(bits >> 32) / 2**31)
            second, label = (rest, IS_NEXT) if is_next else (other, IS_RANDOM)
            yield pair_feature(row, pair, first[-left:], second[:right], label=label, vocabulary=vocabulary)


def pair_feature(
    row: int, pair: int, first: np.ndarray, second: np.ndarray, *, label: int, vocabulary: PieceVocabulary
) -> Feature:
    """Pair number `pair` of a document, of two texts' ids; it is read at its first position, without a label there."""
    ids, segments = vocabulary.pair.fill(first, second)
    labels, note = {WORDS: [IGNORED], NEXT: label}, DevPiece(vocabulary=vocabulary, pair=pair)
    return Feature(row=row, input_ids=ids, token_type_ids=segments, reads=[0], label=labels, note=note)


def pair_answers(
    logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
) -> list[dict[str, Any]]:
    """For each document whether its pairs are as in the document, by the larger of the last two logits."""
    following = {
        (feature.row, feature.note.pair): bool(reduced[0, 2 + IS_NEXT] >= reduced[0, 2 + IS_RANDOM])
        for reduced, feature in zip(logits, features, strict=True)
        if feature.note.pair is not None
    }
    return [{"next": [following[row, pair] for pair in range(len(pairs_of(text)))]} for row, text in enumerate(rows)]


def _owners(
    documents: Sequence[Document], tokens: Tokens, vocabulary: PieceVocabulary, chosen: Sequence[set[ChosenWord]]
) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last chosen word (or NONE) that each token is of, `(tokens, 2)`, which special tokens are never
    of, and how many words of the text it is of, `(tokens,)`: of several, as of ideographs.
    """
    lines = np.cumsum([0, *(len(line) + 1 for document in documents for line in document.lines)])
    words = [(row, word) for row, document in enumerate(documents) for word in words_of(document)]
    begins = np.array([lines[tokens.documents[row] + word.line] + word.start for row, word in words], np.int64)
    ends = begins + np.array([len(word.text) for _, word in words], np.int64)
    before = np.cumsum([0, *(word in chosen[row] for row, word in words)])  # chosen words before each word
    places = tokens.offsets + np.repeat(lines[:-1], np.diff(tokens.lines))[:, None]
    first, last = np.searchsorted(ends, places[:, 0], side="right"), np.searchsorted(begins, places[:, 1])
    others = np.cumsum([0, *map(len, chosen)])[:-1]  # chosen words of the documents before
    owners = np.stack([before[first], before[last] - 1], axis=1)
    owners -= np.repeat(others, np.diff(tokens.bounds))[:, None]
    owners[(before[first] >= before[last]) | vocabulary.special[tokens.ids]] = NONE
    return owners, last - first
