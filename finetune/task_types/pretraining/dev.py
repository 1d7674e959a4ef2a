"""Dev of pre-training: the tokens of words that the text alone chose and pairs of texts, as features and as answers.

All pieces of a document with a chosen word are read, so that each is scored once, whatever the tokenizer.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from finetune.data.documents import Document
from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.chosen_words import chosen_words, random_bits, words_of
from finetune.task_types.pretraining.objectives import NEXT, OBJECTIVES, WORDS
from finetune.task_types.pretraining.pairs import IS_NEXT, IS_RANDOM, pair_lengths
from finetune.task_types.pretraining.pieces import PieceFeatures, Tokens, tokens_of
from finetune.task_types.pretraining.vocabulary import PieceVocabulary

PAIRS = 4  # of a document, at most
NONE = -1  # in place of the number of a word
CHARACTER = math.log(150_000)  # nats for each character of a word that the vocabulary lacks: any that there is
DIGITS = 6  # of nats, in predictions


@dataclass(frozen=True, kw_only=True, eq=False)
class DevPiece:
    """The note of a dev feature: the first and the last chosen word that each label is of, `(labels, 2)`, and how many
    words of the text, chosen or not, its token is of, `(labels,)`; or the number of its pair.
    """

    words: np.ndarray
    shared: np.ndarray
    vocabulary: PieceVocabulary
    pair: int | None = None


def dev_features(
    documents: Sequence[Document], vocabulary: PieceVocabulary, *, objective: str, size: int
) -> list[Feature]:
    """A feature for each piece of at most `size` tokens with a chosen word, whose tokens are masked and read, or read
    at the position before them; then, with pairs, one for each of `pairs_of` the documents.
    """
    tokens, kind = tokens_of(documents, vocabulary.tokenizer, with_offsets=True), OBJECTIVES[objective]
    words, shared = _owners(documents, tokens, vocabulary)
    features, pieces = list[Feature](), PieceFeatures(tokens, vocabulary, size=size)
    for index, (start, end) in enumerate(zip(pieces.starts, pieces.ends, strict=True)):
        positions = np.flatnonzero(words[start:end, 0] != NONE)
        if not len(positions):
            continue
        feature, places = pieces.at(index), positions + len(vocabulary.single.before)
        ids = np.array(feature.input_ids)
        if kind.masked:
            ids[places] = vocabulary.mask_id
        positions += start
        label = {WORDS: tokens.ids[positions].astype(np.int64)} | ({NEXT: IGNORED} if kind.paired else {})
        note = DevPiece(words=words[positions], shared=shared[positions], vocabulary=vocabulary)
        features.append(replace(feature, input_ids=ids, reads=places - (not kind.masked), label=label, note=note))
    return features + (_pair_features(documents, tokens, vocabulary, size=size) if kind.paired else [])


def pairs_of(document: Document) -> list[tuple[int, bool]]:
    """The pairs of a document: the line with which the second text begins, and whether it is the document's own.

    They are at most PAIRS line ends, evenly spread; by the text alone half of them on average are as they are in it.
    """
    count = min(PAIRS, len(document.lines) - 1)
    cuts = [1 + (len(document.lines) - 1) * number // count for number in range(count)]
    return [(cut, random_bits(document, number) % 2 == 0) for number, cut in enumerate(cuts)]


def labels_of_document(document: Document, *, paired: bool) -> dict[str, Any]:
    """The chosen words, their nats, and whether the second text of each pair follows, as in `metrics.words`."""
    words = [word.text for word in chosen_words(document)]
    pairs = {"next": [is_next for _, is_next in pairs_of(document)]} if paired else {}
    return {"words": words, "nats": [0.0] * len(words)} | pairs


def predictions_of(
    logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document], *, paired: bool
) -> list[dict[str, Any]]:
    """For each document, in the form of its labels, the predicted words and the nats of the right ones.

    `logits` are `Head.reduced`: nats and predicted ids, and logits of pairs. Where the vocabulary lacks a part of a
    word, it is not predicted, and costs CHARACTER nats for each character beyond those of the unknown token.
    """
    tokens, follows = defaultdict[Any, list[tuple[float, int, int]]](list), dict[Any, bool]()
    for reduced, feature in zip(logits, features, strict=True):
        note: DevPiece = feature.note
        if note.pair is not None:
            follows[feature.row, note.pair] = bool(reduced[0, 2 + IS_NEXT] >= reduced[0, 2 + IS_RANDOM])
            continue
        owners = zip(note.words.tolist(), note.shared, feature.label[WORDS], reduced[:, :2].tolist(), strict=True)
        for (first, last), divided, label, (nats, best) in owners:
            for number in range(first, last + 1):  # of a token of several words, chosen or not, each costs its part
                tokens[feature.row, number].append((nats / int(divided), int(label), int(best)))
    answers = list[dict[str, Any]]()
    for row, document in enumerate(rows):
        answer: dict[str, Any] = {"words": [], "nats": []}
        for index, word in enumerate(chosen_words(document)):
            costs, labels, best = map(list, zip(*tokens[row, index], strict=True) if tokens[row, index] else ([],) * 3)
            vocabulary: Any = features[0].note.vocabulary if labels else None
            lacking = not labels or vocabulary.unknown_id in labels
            text = "" if lacking else word.text if labels == best else vocabulary.tokenizer.decode(best).strip()
            answer["words"].append(text)
            answer["nats"].append(round(sum(costs) + lacking * CHARACTER * len(word.text), DIGITS))
        pairs = {"next": [follows[row, pair] for pair in range(len(pairs_of(document)))]} if paired else {}
        answers.append(answer | pairs)
    return answers


def _owners(
    documents: Sequence[Document], tokens: Tokens, vocabulary: PieceVocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last chosen word (or NONE) that each token is of, `(tokens, 2)`, which special tokens are never
    of, and how many words of the text it is of, `(tokens,)`: of several, as of ideographs.
    """
    lines = np.cumsum([0, *(len(line) + 1 for document in documents for line in document.lines)])
    words = [(row, word) for row, document in enumerate(documents) for word in words_of(document)]
    chosen = [set(chosen_words(document)) for document in documents]
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


def _pair_features(
    documents: Sequence[Document], tokens: Tokens, vocabulary: PieceVocabulary, *, size: int
) -> list[Feature]:
    """A feature for each pair of texts, read at its first position, which has no label: a text and what follows it, or
    what another document has in its second half.
    """
    several = [number for number, document in enumerate(documents) if len(document.lines) > 1]
    ends, ids_of = tokens.bounds[1:], tokens.ids
    features = list[Feature]()
    for row in several:
        others, lines = [number for number in several if number != row] or [row], tokens.lines[tokens.documents[row] :]
        for pair, (cut, is_next) in enumerate(pairs_of(documents[row])):
            bits = random_bits(documents[row], pair) >> 1  # the lowest bit is the label
            source = others[bits % len(others)]
            half = tokens.lines[tokens.documents[source] + max(1, len(documents[source].lines) // 2)]
            first, own, other = (
                ids_of[lines[0] : lines[cut]],
                ids_of[lines[cut] : ends[row]],
                ids_of[half : ends[source]],
            )
            left, right = pair_lengths(len(first), len(own), len(other), size=size, share=(bits >> 32) / 2**31)
            ids, segments = vocabulary.pair.fill(first[-left:], (own if is_next else other)[:right])
            note = DevPiece(words=np.array([[NONE, NONE]]), shared=np.array([0]), vocabulary=vocabulary, pair=pair)
            label = {WORDS: [IGNORED], NEXT: IS_NEXT if is_next else IS_RANDOM}
            features.append(Feature(row=row, input_ids=ids, token_type_ids=segments, reads=[0], label=label, note=note))
    return features
