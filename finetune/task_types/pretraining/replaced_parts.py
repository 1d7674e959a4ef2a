"""Dev of replaced tokens: words of a text are exchanged, and the encoder finds them.

A generator's samples would differ with each generator, and a saved model has none. So the words that masks cover in
other objectives are exchanged for others of the same document, chosen by its text alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.documents import Document
from finetune.models.feature import Feature
from finetune.task_types.parts import Answer, Baselines, Codec, Scoring
from finetune.task_types.pretraining.baselines import bigram_nats, counted, unigram_nats
from finetune.task_types.pretraining.chosen_words import HAN, ChosenWord, chosen_words, random_bits, words_of
from finetune.task_types.pretraining.dev import NONE, dev_tokens
from finetune.task_types.pretraining.features import PieceFeatures
from finetune.task_types.pretraining.label_names import REPLACED
from finetune.task_types.pretraining.pieces import pieces
from finetune.task_types.pretraining.tokenized import piece_size, vocabulary_for

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


OTHERS = 1 << 20  # follows a word's number in what its replacement is drawn from


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadWords:
    """The note of a dev feature: the first and the last word that each token that is read is of, `(reads, 2)`, its id
    and that of the token before it (or NONE), `(reads,)`.
    """

    words: np.ndarray
    tokens: np.ndarray
    before: np.ndarray


class ReplacedCodec(Codec[Any]):
    """Documents with exchanged words to features; logits to the words that seem exchanged."""

    def encode(self, rows: Sequence[Document], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """All pieces of each document, every word of which is read."""
        vocabulary = vocabulary_for(self.task.objective, tokenizer)
        size = piece_size(self.task.objective, vocabulary, max_length)
        tokens = dev_tokens([exchanged(row)[0] for row in rows], vocabulary, chosen=words_of)
        file, template, found = pieces(tokens.file, size), vocabulary.single, list[Feature]()
        for row, start, end in zip(file.row.tolist(), file.start.tolist(), file.end.tolist(), strict=True):
            words, ids = tokens.words[start:end], tokens.file.ids[start:end]
            positions = np.flatnonzero(words[:, 0] != NONE)
            inputs = np.concatenate([template.before, ids, template.after]).astype(np.int32)
            note = ReadWords(
                words=words[positions], tokens=ids[positions], before=tokens.before(row, start + positions)
            )
            if len(positions):
                found.append(
                    Feature(
                        row=row,
                        input_ids=inputs,
                        token_type_ids=np.zeros(len(inputs), np.int8) if template.segments else None,
                        reads=positions + len(template.before),
                        label={REPLACED: _of_exchanged(words[positions], exchanged(rows[row])[1])},
                        note=note,
                    )
                )
        return found

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[Document]
    ) -> list[Answer]:
        """As many words of each document as were exchanged: those of which a token has the highest logits."""
        highest: list[dict[int, float]] = [{} for _ in rows]
        for each, feature in zip(logits, features, strict=True):
            known = highest[feature.row]
            for (first, last), logit in zip(feature.note.words.tolist(), each[:, 0].tolist(), strict=True):
                for word in range(first, last + 1):
                    known[word] = max(logit, known.get(word, logit))
        return [
            Answer(value={REPLACED: _highest(known, len(exchanged(row)[1]))})
            for known, row in zip(highest, rows, strict=True)
        ]

    def cells(self, answer: Answer, row: Document) -> dict[str, Any]:
        """The words that were exchanged in a text, and those that seem so, as it was read."""
        changed, numbers = exchanged(row)
        words = words_of(changed)
        return {
            "prediction": " ".join(words[number].text for number in answer.value[REPLACED]),
            "replaced": " ".join(words[number].text for number in numbers),
        }

    def truncation_note(self, max_length: int) -> str:
        return "are longer than max_length: they are read in pieces"

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        return "drawn for each update" if feature.reads is None else f"{len(feature.reads)} tokens"


class ReplacedScoring(Scoring[Any]):
    """The words that were exchanged."""

    def all_labelled(self, rows: Sequence[Document]) -> bool:
        """Any text is its own label."""
        return True

    def labels(self, rows: Sequence[Document]) -> list[Answer]:
        return [Answer(value={REPLACED: list(exchanged(row)[1])}) for row in rows]


class ReplacedBaselines(Baselines[Any]):
    """Unigram and bigram of the training text."""

    def from_features(
        self, train: Sequence[Feature], features: Sequence[Feature], rows: Sequence[Document]
    ) -> dict[str, list[Answer]]:
        """The unigram names the rarest words; the bigram those that are more likely by their frequency than after the
        token before.
        """
        assert isinstance(train, PieceFeatures)
        unigram, odds = _nats(train, features)
        given = {"unigram": unigram, "bigram": odds}
        return {name: self.task.codec.decode(found, features, rows) for name, found in given.items()}


def fits_replaced(value: Mapping[str, Any], row: Document) -> bool:
    """Whether a prediction names words that the document has."""
    count = len(words_of(row))
    return value.keys() == {REPLACED} and all(0 <= number < count for number in value[REPLACED])


@lru_cache(maxsize=8_192)  # of dev, which is scored again and again
def exchanged(document: Document) -> tuple[Document, tuple[int, ...]]:
    """A document whose chosen words are exchanged for other words of it, and the numbers of these among its words.

    An ideograph is exchanged for another one, so that words stay words. One that has no other stays.
    """
    words = words_of(document)
    numbers = {word: number for number, word in enumerate(words)}
    others = {kind: sorted({word.text for word in words if _is_han(word) == kind}) for kind in (False, True)}
    given = dict[int, str]()
    for word in chosen_words(document):
        known = [text for text in others[_is_han(word)] if text.casefold() != word.text.casefold()]
        if known:
            given[numbers[word]] = known[random_bits(document, OTHERS + numbers[word]) % len(known)]
    lines = list(document.lines)
    for number in sorted(given, reverse=True):  # from the end, so that the places of those before stay
        word = words[number]
        line = lines[word.line]
        lines[word.line] = line[: word.start] + given[number] + line[word.end :]
    return Document(document.id, tuple(lines)), tuple(sorted(given))


def _of_exchanged(words: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """1 for each token of an exchanged word, `(reads,)`; `words` are the first and the last that each is of."""
    known = np.array(numbers, np.int64)
    first, last = np.searchsorted(known, words[:, 0]), np.searchsorted(known, words[:, 1], side="right")
    return np.asarray(last > first, np.int64)


def _is_han(word: ChosenWord) -> bool:
    return HAN.fullmatch(word.text) is not None


def _highest(values: Mapping[int, float], count: int) -> list[int]:
    """The numbers with the `count` highest values, in order."""
    return sorted(sorted(values, key=lambda number: (-values[number], number))[:count])


def _nats(train: PieceFeatures, features: Sequence[Feature]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each token the nats of its word by the frequencies of tokens, and how many more it has by what follows the
    token before: each `(reads, 1)`.
    """
    notes: list[ReadWords] = [feature.note for feature in features]
    tokens, before = (np.concatenate([getattr(note, name) for note in notes]) for name in ("tokens", "before"))
    size = 1 + int(max(each.max() for each in (train.tokens.ids, tokens, before)))
    known = before != NONE
    counts = counted(train.tokens, before[known], tokens[known], size=size)
    unigram, more = unigram_nats(counts, tokens), np.zeros(len(tokens))
    more[known] = bigram_nats(counts, before[known], tokens[known]) - unigram[known]
    ends = np.cumsum([len(note.tokens) for note in notes])[:-1]
    both = (zip(np.split(of_tokens, ends), notes, strict=True) for of_tokens in (unigram, more))
    one, other = ([_of_words(each, note) for each, note in some] for some in both)
    return one, other


def _of_words(nats: np.ndarray, note: ReadWords) -> np.ndarray:
    """For each token the sum over the tokens of its first word: `(reads, 1)`."""
    _, word = np.unique(note.words[:, 0], return_inverse=True)
    return np.asarray(np.bincount(word, weights=nats)[word][:, np.newaxis])
