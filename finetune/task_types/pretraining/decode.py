"""From logits of dev features to predicted words and their nats, for each document."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from finetune.data.documents.document import Document
from finetune.models.feature import Feature
from finetune.task_types.pretraining.chosen_words import ChosenWord, chosen_words
from finetune.task_types.pretraining.dev import DevPiece, pairs_of
from finetune.task_types.pretraining.objectives import WORDS
from finetune.task_types.pretraining.pairs import IS_NEXT

CHARACTER = math.log(150_000)  # nats for each character of a word that the vocabulary lacks: any that there is
DIGITS = 6  # of nats, in predictions

ScoredWord = tuple[float, list[int], list[int]]  # nats, labels and predicted ids of a word's tokens


def labels_of_document(document: Document, *, paired: bool) -> dict[str, Any]:
    """The chosen words, their nats, and whether the second text of each pair follows, as in `metrics.words`."""
    words = [word.text for word in chosen_words(document)]
    found: dict[str, Any] = {"words": words, "nats": [0.0] * len(words)}
    return found | ({"next": [is_next for _, is_next in pairs_of(document)]} if paired else {})


def predictions_of(
    logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document], *, paired: bool
) -> list[dict[str, Any]]:
    """For each document, in the form of `labels_of`, the predicted words and the nats of the right ones.

    `logits` are `Head.reduced`: nats and predicted ids, and logits of pairs. Where the vocabulary lacks a part of a
    word, it is not predicted, and costs CHARACTER nats for each character beyond those of the unknown token.
    """
    vocabulary = features[0].note.vocabulary if features else None
    of_rows = defaultdict[int, list[tuple[np.ndarray, Feature]]](list)
    for reduced, feature in zip(logits, features, strict=True):
        of_rows[feature.row].append((reduced, feature))
    answers = []
    for row, document in enumerate(rows):
        tokens, following = _scored(of_rows[row])
        words = [_word(word, tokens.get(index), vocabulary) for index, word in enumerate(chosen_words(document))]
        pairs = {"next": [following[pair] for pair in range(len(pairs_of(document)))]} if paired else {}
        answers.append({"words": [word for word, _ in words], "nats": [nats for _, nats in words]} | pairs)
    return answers


def _scored(found: Sequence[tuple[np.ndarray, Feature]]) -> tuple[dict[int, ScoredWord], dict[int, bool]]:
    """From the features of a document its chosen words by number, and whether the second text of each pair follows."""
    tokens, following = dict[int, ScoredWord](), dict[int, bool]()
    for reduced, feature in found:
        note: DevPiece = feature.note
        if note.pair is not None:
            following[note.pair] = bool(reduced[0, 2 + IS_NEXT] >= reduced[0, 3 - IS_NEXT])
            continue
        owners = zip(note.words.tolist(), note.shared.tolist(), strict=True)
        each = zip(owners, feature.label[WORDS], reduced[:, :2].tolist(), strict=True)
        for ((first, last), divided), label, (nats, given) in each:
            for word in range(first, last + 1):  # of a token of several words, chosen or not, each costs its part
                before = tokens.get(word, (0.0, [], []))
                tokens[word] = before[0] + nats / divided, [*before[1], int(label)], [*before[2], int(given)]
    return tokens, following


def _word(word: ChosenWord, scored: ScoredWord | None, vocabulary: Any) -> tuple[str, float]:
    """A predicted word and the nats of the right one."""
    nats, labels, given = scored or (0.0, [], [])
    if not labels or vocabulary.unknown_id in labels:
        return "", round(nats + CHARACTER * len(word.text), DIGITS)
    text = word.text if labels == given else vocabulary.tokenizer.decode(given).strip()
    return text, round(nats, DIGITS)
