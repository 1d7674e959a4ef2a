"""Sequence tagging on the sequence output (Devlin et al. 2019, Figure 4 d), such as named entity recognition."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import eq
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from finetune.data.messages import so_many
from finetune.data.rows import ADDED_LATER
from finetune.errors import UserError
from finetune.metrics.entities import chunks, strict_chunks
from finetune.metrics.klue import character_macro_f1, entity_macro_f1
from finetune.metrics.metric import Counted, Metric
from finetune.metrics.sums import part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.declared import option
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer
from finetune.task_types.tagging.encoding import encode_words, same_document
from finetune.task_types.tagging.segments import WordsInText, characters_of, segmented, split_words
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.tagging.head import TaggingHead

OF_CHARACTERS = ("entity macro f1", "character macro f1")
PARTS = ("f1", "precision", "recall")
MOST_ENTITIES = 5  # entities of a row that are explained
NONE = "no entity"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRow:
    """The words of a sentence with their tags in IOB2; sentences of one document have the same `document`.

    Words of a running text have that `text`, and the index of the first character of each in `starts`. Those that were
    split from a `raw` text, which the model reads as words, have their places in it.
    """

    id: str
    words: tuple[str, ...]
    gold: tuple[str, ...] | None = None
    document: str = ""
    text: str = field(default="", metadata=ADDED_LATER)
    starts: tuple[int, ...] = field(default=(), metadata=ADDED_LATER)
    raw: str = field(default="", metadata=ADDED_LATER)

    @classmethod
    def of(cls, text: str, split: Callable[[str], WordsInText], **fields: Any) -> "TaggingRow":
        """The row of a text whose words `split` finds; what `split_words` reads is raw."""
        words, starts = split(text)
        fields["raw" if split is split_words else "text"] = text
        return cls(words=words, starts=starts, **fields)

    @property
    def input(self) -> str:
        """The text, or the words with spaces between them."""
        return self.text or " ".join(self.words)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The (start, end) of each word in `input`."""
        return self._from(self.starts if self.text else ())

    @property
    def given(self) -> tuple[str, list[tuple[int, int]]]:
        """The text as the user gave it, and the (start, end) of each word in it."""
        return (self.raw, self._from(self.starts)) if self.raw else (self.input, self.places)

    @property
    def named_texts(self) -> list[list[NamedText]]:
        """Its words to explain; a running text, whose words may be single characters, has the tokenizer's."""
        return [[NamedText(name="text", text=self.input, words=None if self.text else self.places)]]

    def _from(self, starts: Sequence[int]) -> list[tuple[int, int]]:
        begins = starts or accumulate((len(word) + 1 for word in self.words[:-1]), initial=0)
        return [(begin, begin + len(word)) for begin, word in zip(begins, self.words, strict=True)]


@dataclass(frozen=True, kw_only=True)
class TagsAnswer(Answer):
    """Tags with their `probabilities`; `label_probabilities` are those of the row's own tags, NaN for a wrong tag of a
    word that shares another's token. None where the row has no tags.
    """

    label_probabilities: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class TaggingTask(Task):
    """Tags in IOB2 for entities of `types`; scored with conlleval's chunks, and also with strict IOB2 chunks.

    `context = "document"` lets a window span several sentences of a document, as in the paper (section 5.3). With
    `running_text` a text is split into words at signs, not at spaces; with `signs_apart` the signs around a word of a
    raw text become words, as they are in the training data. With `characters` the words are the characters of a text
    but for its spaces, and KLUE-NER's macro F1 of entities and of characters come first. Tags that are `plain`, such as
    parts of speech, are the `types` themselves, scored by the accuracy of words.
    """

    types: tuple[str, ...]
    context: Literal["sentence", "document"] = option(
        "sentence", "`document`: a window holds as many sentences of a document as fit"
    )
    running_text: bool = False
    signs_apart: bool = False
    characters: bool = False
    plain: bool = False
    metrics: tuple[Metric, ...] = ()
    row_type = TaggingRow
    pooled = False

    def __post_init__(self) -> None:
        by_type = (f"{kind}/{part}" for kind in self.types for part in PARTS)
        first = OF_CHARACTERS if self.characters else ()
        whole = ("accuracy",) if self.plain else (*first, "f1", "precision", "recall", "strict f1")
        names = (*whole, *by_type)
        object.__setattr__(self, "metrics", tuple(map(Metric, names)))
        super().__post_init__()

    @property
    def labels(self) -> tuple[str, ...]:
        """O, then B and I of each type; the types where tags are plain."""
        if self.plain:
            return self.types
        return ("O", *(f"{prefix}-{kind}" for kind in self.types for prefix in "BI"))

    @property
    def label_names(self) -> tuple[str, ...]:
        """The types of entities."""
        return self.types

    def fault(self, row: TaggingRow) -> str:
        if not row.words:
            return "has no words"
        if row.gold is not None and not self.fits(list(row.gold), row):
            return f"needs {so_many(len(row.words), 'tag')}, of {', '.join(self.labels)}; it has {', '.join(row.gold)}"
        return ""

    def fits(self, value: Any, row: TaggingRow) -> bool:
        return isinstance(value, list) and len(value) == len(row.words) and set(value) <= set(self.labels)

    def row(self, words: Sequence[str] | str) -> TaggingRow:
        """A row of words, or of a text whose words are found by `segmented` or have spaces between them."""
        if not isinstance(words, str):
            return TaggingRow(id="", words=tuple(words))
        if self.characters or self.running_text:
            return TaggingRow.of(words, characters_of if self.characters else segmented, id="")
        return TaggingRow.of(words, split_words, id="") if self.signs_apart else self.row(words.split())

    def head(self, backbone: "Backbone") -> "TaggingHead":
        """The head of Figure 4 (d)."""
        from finetune.task_types.tagging.head import TaggingHead

        return TaggingHead(backbone, self.labels)

    def encode_together(self, before: TaggingRow, row: TaggingRow) -> bool:
        """Sentences of one document, where windows span them."""
        return self.context == "document" and same_document(before, row)

    def encode(
        self, rows: Sequence[TaggingRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """Windows over sentences or documents, see `encoding.py`."""
        return encode_words(rows, tokenizer, max_length, label=self.labels.index, documents=self.context == "document")

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[TaggingRow]
    ) -> list[Answer]:
        """The most probable tag of each word, its probability, and that of the row's own tag."""
        by_word = [np.full((len(row.words), len(self.labels)), np.nan, dtype=np.float32) for row in rows]
        for window, feature in zip(logits, features, strict=True):
            for (after, word), of_word in zip(feature.note, window, strict=True):
                by_word[feature.row + after][word] = of_word
        return list(map(self._answer, rows, by_word))

    def _answer(self, row: TaggingRow, logits: np.ndarray) -> TagsAnswer:
        """The answer for logits `(words, labels)`, which are NaN for a word that shares the token of the one before it.

        Such a word is in the entity of the one before it, or in none; a blank only where the next word is too.
        """
        from scipy.special import softmax

        labels, chances = self.labels, softmax(logits, axis=-1)
        tags, sure, shares = list[str](), list[float](), np.isnan(logits[:, 0])
        for word, best in enumerate(chances.argmax(-1)):
            if shares[word]:
                before = tags[-1] if tags else "O"
                tags.append(before if self.plain or before == "O" else f"I-{before[2:]}")
                sure.append(sure[-1] if sure else 1.0)
            else:
                tags.append(labels[best])
                sure.append(float(chances[word, best]))
        for word in reversed(range(len(tags))):
            if shares[word] and not row.words[word].strip() and tags[word : word + 1] != tags[word + 1 : word + 2]:
                tags[word] = "O"
        label_chances = None
        if row.gold is not None:
            both = enumerate(zip(row.gold, tags, strict=True))
            label_chances = [
                sure[n] if gold == tag else float(chances[n, labels.index(gold)]) for n, (gold, tag) in both
            ]
        return TagsAnswer(value=tags, probabilities=sure, label_probabilities=label_chances)

    def cells(self, answer: Answer, row: TaggingRow) -> dict[str, Any]:
        """Tags, their probabilities, the entities, and each word's characters in the text, or in the words joined by
        spaces.
        """
        return {
            "prediction": answer.value,
            "probabilities": [round(p, 6) for p in answer.probabilities or ()],
            **({} if self.plain else {"entities": entities_of(answer, row)}),
            "characters": list(map(list, row.given[1])),
        }

    def labels_of(self, rows: Sequence[TaggingRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else list(row.gold)) for row in rows]

    def sums(self, answers: Sequence[Answer], rows: Sequence[TaggingRow]) -> dict[str, Counted]:
        """All metrics, from the numbers of right, predicted and true entities of each sentence."""
        sides = [[row.gold or () for row in rows], [answer.value for answer in answers]]
        gold, predicted = sides
        metrics = {"strict f1": part_counted("f1", *set_counts(*(list(map(strict_chunks, side)) for side in sides)))}
        if self.characters:
            counted = entity_macro_f1(gold, predicted), character_macro_f1(gold, predicted, self.labels)
            metrics |= zip(OF_CHARACTERS, counted, strict=True)
        if self.plain:
            right, words = [sum(map(eq, a, b)) for a, b in zip(gold, predicted, strict=True)], list(map(len, gold))
            metrics["accuracy"] = part_counted("precision", right, words, words)
        chunks_of_rows = [list(map(chunks, side)) for side in sides]
        for kind in ("", *self.types):
            counts = set_counts(
                *([[chunk for chunk in row if kind in ("", chunk[0])] for row in side] for side in chunks_of_rows)
            )
            metrics |= {f"{kind}/{part}" if kind else part: part_counted(part, *counts) for part in PARTS}
        return metrics

    def baselines(self, train: Sequence[TaggingRow], rows: Sequence[TaggingRow]) -> dict[str, list[Answer]]:
        """Each word's most frequent tag in training; of an unknown word O, or the most frequent of plain tags."""
        seen = ((word, tag) for row in train for word, tag in zip(row.words, row.gold or (), strict=True))
        tags = Counter(tag for row in train for tag in row.gold or ()) if self.plain else Counter("O")
        unseen = max(tags, key=lambda tag: tags[tag], default=self.labels[0])
        baseline = baselines.most_frequent(seen, (row.words for row in rows), unseen=unseen)
        return {"most-frequent-tag": [Answer(value=tags) for tags in baseline]}

    def explain_target(
        self, row: TaggingRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        """The tags of the first entities, or those of the words or characters that were asked for.

        Each tag is explained by its log-odds at the word's first token.
        """
        labels, (text, places) = self.labels, row.given
        if asked.word is None:
            asked.require_no_label("a tag is explained for one word: name it with `word`")
            wanted = [(kind, range(a, b), answer.value[a:b]) for kind, a, b in chunks(answer.value)[:MOST_ENTITIES]]
        else:
            span = _words_at(row, asked.word)
            tags = answer.value[span.start : span.stop]
            if (tag := asked.one_of(labels)) is not None:
                inner = f"I-{tag.partition('-')[2]}"
                tags = [tag, *[inner if inner in labels else tag] * (len(span) - 1)]
            wanted = [(" ".join(tags), span, tags)]
        targets = []
        for name, span, tags in wanted:
            picks = [
                Pick(feature=number, place=(place, labels.index(tags[word - span.start])), against=1)
                for number, feature in enumerate(features)
                for place, (_, word) in enumerate(feature.note.tolist())
                if word in span
            ]
            label = f"{name}: {text[places[span[0]][0] : places[span[-1]][1]]}"
            sure = [(answer.probabilities or ())[word] for word in span if tags == answer.value[span.start : span.stop]]
            targets.append(Target(label=label, picks=picks, confidence=min(sure, default=None)))
        if asked.word is not None and not targets[0].picks:
            raise UserError(f"'{asked.word}' shares a token with the character before it", "Name more of the word")
        targets = [target for target in targets if target.picks]
        prediction = entities_said(answer.value, row)
        return ExplainTarget(texts=row.named_texts, prediction=prediction, confidence=None, targets=targets)


def entity_spans(tags: Sequence[str], row: TaggingRow) -> list[tuple[int, int, str]]:
    """The entities in tags as (first character, character after the last, type) in the text that the user gave."""
    _, places = row.given
    return [(places[first][0], places[after - 1][1], kind) for kind, first, after in chunks(tags)]


def entities_said(tags: Sequence[str], row: TaggingRow) -> str:
    """The entities in tags as people read them: `Anna (PER), Paris (LOC)`."""
    text, _ = row.given
    return ", ".join(f"{text[start:end]} ({kind})" for start, end, kind in entity_spans(tags, row)) or NONE


def entities_of(answer: Answer, row: TaggingRow) -> list[dict[str, Any]]:
    """The entities in a prediction: type, text, first character and character after the last, and a probability,
    the lowest of those of its words' tags.
    """
    entities, (text, _) = [], row.given
    for (start, end, kind), (_, *words) in zip(entity_spans(answer.value, row), chunks(answer.value), strict=True):
        chances = (answer.probabilities or ())[slice(*words)]
        entity = {"type": kind, "text": text[start:end], "start": start, "end": end}
        entities.append(entity | ({"probability": round(min(chances), 6)} if len(chances) else {}))
    return entities


def _words_at(row: TaggingRow, word: str) -> range:
    """The numbers of the words, or characters, of which the first occurrence of `word` consists."""
    starts, ends = zip(*row.places, strict=True)
    for start in starts:
        if row.input.startswith(word, start) and start + len(word) in ends:
            return range(starts.index(start), ends.index(start + len(word)) + 1)
    raise UserError(
        f"the word '{word}' is not in the text", f"It is one of {', '.join(dict.fromkeys(row.input.split()))}"
    )
