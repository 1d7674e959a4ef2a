"""Sequence tagging on the sequence output (Devlin et al. 2019, Figure 4 d), such as named entity recognition."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from finetune.data.messages import so_many
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.metrics.entities import chunks, entity_scores, illegal_transitions, strict_chunks
from finetune.metrics.klue import character_macro_f1, entity_macro_f1
from finetune.metrics.metric import Metric
from finetune.metrics.sums import Counted, part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.declared_options import option
from finetune.task_types.explained import Asked, ExplainTarget, NamedText
from finetune.task_types.parts import Answer, Teaching
from finetune.task_types.tagging import explained
from finetune.task_types.tagging.raw_text import split_words
from finetune.task_types.tagging.row import TaggingRow
from finetune.task_types.tagging.segments import characters_of, segmented
from finetune.task_types.task import Task
from finetune.task_types.words.encoding import encode_words, same_document

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.tagging.head import TaggingHead

OF_CHARACTERS = ("entity macro f1", "character macro f1")


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

    read: Callable[[Source, str], Rows]
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

    def __post_init__(self) -> None:
        by_type = (f"{kind}/{part}" for kind in self.types for part in ("f1", "precision", "recall"))
        first = OF_CHARACTERS if self.characters else ()
        whole = ("accuracy",) if self.plain else (*first, "f1", "precision", "recall", "strict f1")
        names = (*whole, *by_type)
        object.__setattr__(self, "metrics", tuple(map(Metric, names)))
        super().__post_init__()

    @property
    def pooled(self) -> bool:
        """Never: the head reads each word."""
        return False

    @property
    def labels(self) -> tuple[str, ...]:
        """O, then B and I of each type; the types where tags are plain."""
        if self.plain:
            return self.types
        return ("O", *(f"{prefix}-{kind}" for kind in self.types for prefix in "BI"))

    @property
    def teach(self) -> Teaching:
        """The tags of each word, so that teacher and student may split words into other tokens."""
        return Teaching(learns="class", labels=self.labels, by_word=True)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The types of entities."""
        return self.types

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the row for a missing word or a wrong tag."""
        return self.checked(self.read(source, split))

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
        if self.characters and isinstance(words, str):
            found, starts = characters_of(words)
            return TaggingRow(id="", words=found, text=words, starts=starts)
        if self.running_text and isinstance(words, str):
            found, starts = segmented(words)
            return TaggingRow(id="", words=found, text=words, starts=starts)
        if self.signs_apart and isinstance(words, str):
            found, starts = split_words(words)
            return TaggingRow(id="", words=found, raw=words, starts=starts)
        return TaggingRow(id="", words=tuple(words.split() if isinstance(words, str) else words))

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
        """Windows over sentences or documents, see `words/encoding.py`."""
        return encode_words(rows, tokenizer, max_length, label=self.labels.index, documents=self.context == "document")

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[TaggingRow]
    ) -> list[Answer]:
        """The most probable tag of each word, its probability, and that of the row's own tag."""
        tags = [[""] * len(row.words) for row in rows]
        sure = [[0.0] * len(row.words) for row in rows]
        labels = [[math.nan] * len(row.words) for row in rows]
        for given, feature in zip(logits, features, strict=True):
            best = given.argmax(-1)
            chances = np.exp(given - given.max(-1, keepdims=True))
            chances /= chances.sum(-1, keepdims=True)
            own = best if feature.label is None else np.array(feature.label, int)
            each = np.arange(len(best))
            for (after, word), label, p, q in zip(
                feature.note.tolist(), best, chances[each, best], chances[each, own], strict=True
            ):
                row = feature.row + after
                tags[row][word], sure[row][word], labels[row][word] = self.labels[label], float(p), float(q)
        for given_tags, given_chances, row in zip(tags, sure, rows, strict=True):
            if row.text:
                _continue(row.words, given_tags, given_chances)
        return [
            TagsAnswer(
                value=t, probabilities=p, label_probabilities=None if row.gold is None else _labels(row.gold, t, p, q)
            )
            for row, t, p, q in zip(rows, tags, sure, labels, strict=True)
        ]

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

    def confidence(self, answer: Answer, row: TaggingRow) -> float | None:
        """That of the word whose tag it is least sure of."""
        return None if answer.probabilities is None else float(min(answer.probabilities, default=1.0))

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        """The labelled tokens with their tags."""
        if feature.label is None:
            return "none"
        return " ".join(
            f"{tokens[place]}/{self.labels[label]}"
            for place, label in zip(feature.reads or (), feature.label, strict=True)
        )

    def labels_of(self, rows: Sequence[TaggingRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else list(row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[TaggingRow]) -> dict[str, float]:
        """Entity precision, recall and F1, over all and by type; F1 of strict IOB2 chunks; of plain tags accuracy."""
        if self.plain:
            sums = self.sums(answers, rows)
            return {metric.name: sums[metric.name].score for metric in self.metrics}
        gold = [row.gold or () for row in rows]
        found = entity_scores(map(chunks, gold), (chunks(answer.value) for answer in answers))
        strict = entity_scores(map(strict_chunks, gold), (strict_chunks(answer.value) for answer in answers))
        scores = {"f1": found[""][2], "precision": found[""][0], "recall": found[""][1], "strict f1": strict[""][2]}
        for kind in self.types:
            precision, recall, f1 = found.get(kind, (0.0, 0.0, 0.0))
            scores |= {f"{kind}/f1": f1, f"{kind}/precision": precision, f"{kind}/recall": recall}
        return {name: counted.score for name, counted in self._of_characters(gold, answers).items()} | scores

    def sums(self, answers: Sequence[Answer], rows: Sequence[TaggingRow]) -> dict[str, Counted]:
        """All metrics, from the numbers of right, predicted and true entities of each sentence."""
        gold, given = [row.gold or () for row in rows], [answer.value for answer in answers]
        there, found = list(map(chunks, gold)), list(map(chunks, given))
        strict = set_counts(list(map(strict_chunks, gold)), list(map(strict_chunks, given)))
        every = set_counts(there, found)
        metrics = {part: part_counted(part, *every) for part in ("f1", "precision", "recall")}
        metrics["strict f1"] = part_counted("f1", *strict)
        if self.plain:
            right, words = [sum(map(eq, a, b)) for a, b in zip(gold, given, strict=True)], list(map(len, gold))
            metrics["accuracy"] = part_counted("precision", right, words, words)
        for kind in self.types:
            counts = set_counts(*([[c for c in row if c[0] == kind] for row in side] for side in (there, found)))
            for part in ("f1", "precision", "recall"):
                metrics[f"{kind}/{part}"] = part_counted(part, *counts)
        return metrics | self._of_characters(gold, answers)

    def score_notes(self, answers: Sequence[Answer], rows: Sequence[TaggingRow]) -> list[str]:
        """A note on how many tags continue an entity that no tag began."""
        if self.plain:
            return []
        illegal = sum(illegal_transitions(answer.value) for answer in answers)
        tags = so_many(sum(len(answer.value) for answer in answers), "tag")
        return [f"{so_many(illegal, 'illegal transition')} (an I-X after no X) in {tags}"] if illegal else []

    def _of_characters(self, gold: Sequence[Sequence[str]], answers: Sequence[Answer]) -> dict[str, Counted]:
        if not self.characters:
            return {}
        given = [answer.value for answer in answers]
        counted = entity_macro_f1(gold, given), character_macro_f1(gold, given, self.labels)
        return dict(zip(OF_CHARACTERS, counted, strict=True))

    def baselines(self, train: Sequence[TaggingRow], rows: Sequence[TaggingRow]) -> dict[str, list[Answer]]:
        """Each word's most frequent tag in training; of an unknown word O, or the most frequent of plain tags."""
        seen = ((word, tag) for row in train for word, tag in zip(row.words, row.gold or (), strict=True))
        tags = Counter(tag for row in train for tag in row.gold or ()) if self.plain else Counter("O")
        unseen = max(tags, key=lambda tag: tags[tag], default=self.labels[0])
        given = baselines.most_frequent(seen, (row.words for row in rows), unseen=unseen)
        return {"most-frequent-tag": [Answer(value=tags) for tags in given]}

    def explain_texts(self, row: TaggingRow) -> list[list[NamedText]]:
        return explained.tag_texts(row)

    def explain_target(
        self, row: TaggingRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        return explained.tag_targets(row, self.labels, answer, features, asked)


def entities_of(answer: Answer, row: TaggingRow) -> list[dict[str, Any]]:
    """The entities in a prediction: type, text, first character and character after the last, and a probability,
    the lowest of those of its words' tags.
    """
    found, (text, places) = [], row.given
    for kind, first, after in chunks(answer.value):
        start, end = places[first][0], places[after - 1][1]
        one = {"type": kind, "text": text[start:end], "start": start, "end": end}
        chances = (answer.probabilities or ())[first:after]
        found.append(one | ({"probability": round(min(chances), 6)} if len(chances) else {}))
    return found


def _labels(gold: Sequence[str], tags: Sequence[str], sure: Sequence[float], own: Sequence[float]) -> list[float]:
    """The probabilities of the row's own tags; a word without a token has that of the word before it if it is right."""
    return [p if tag == label and math.isnan(q) else q for label, tag, p, q in zip(gold, tags, sure, own, strict=True)]


def _continue(words: Sequence[str], tags: list[str], chances: list[float]) -> None:
    """Gives words that share another word's token the entity of the word before them, or none.

    A blank, which has no token, belongs to an entity only where the next word continues it.
    """
    before, chance = "O", 1.0
    for place, tag in enumerate(tags):
        if not tag:
            kind = before.partition("-")[2]
            tags[place] = f"I-{kind}" if kind else before
            chances[place] = chance
        before, chance = tags[place], chances[place]
    after = "O"
    for place in reversed(range(len(tags))):
        if not words[place].strip() and tags[place] != after:
            tags[place] = "O"
        after = tags[place]
