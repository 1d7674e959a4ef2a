"""Joint intent classification and slot filling (Chen, Zhuo and Wang 2019): one model, one pass, both answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.scores import class_metric
from finetune.metrics.sums import Counted, mean_counted
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.classification.texts import TextRow, tfidf_notes
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer
from finetune.task_types.tagging.intent.row import INTENT, SLOTS, IntentRow, as_value, intent_label
from finetune.task_types.tagging.task import TaggingTask, TagsAnswer
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.tagging.intent.head import IntentHead

EXACT, ACCURACY = "exact match", f"{INTENT} accuracy"
OF_SLOTS = {"f1": "slot f1", "precision": "slot precision", "recall": "slot recall"}  # a tagger's name: ours


def slots_of(answer: Answer) -> TagsAnswer:
    """The tags of a prediction, with their probabilities."""
    own = getattr(answer, "label_probabilities", None)
    return TagsAnswer(
        value=answer.value[SLOTS],
        probabilities=None if answer.probabilities is None else answer.probabilities[1:],
        label_probabilities=None if own is None else own[1:],
    )


def with_intent(answer: Answer, cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a tagger's prediction with the intent."""
    chance = {} if answer.probabilities is None else {f"{INTENT} probability": round(float(answer.probabilities[0]), 6)}
    both = {INTENT: answer.value[INTENT], SLOTS: cells["prediction"]}
    return {**cells, "prediction": both, INTENT: answer.value[INTENT], **chance}


@dataclass(frozen=True, kw_only=True)
class IntentTask(Task):
    """One of `intents` for a text, and tags in IOB2 for the slots of `types` in it.

    The first score is the share of rows that are right in all: the paper's sentence-level semantic frame accuracy. What
    concerns tags is asked of a `tagger`, the same task without intents, whose `running_text`, `signs_apart` and
    `plain` are as here.
    """

    read: Callable[[Source, str], Rows]
    types: tuple[str, ...]
    intents: tuple[str, ...]
    running_text: bool = False
    signs_apart: bool = False
    plain: bool = False
    metrics: tuple[Metric, ...] = ()
    version: int = 2
    row_type = IntentRow

    def __post_init__(self) -> None:
        by_type = (f"{kind}/{part}" for kind in self.types for part in OF_SLOTS)
        whole = (Metric(name, per_row=True) for name in (EXACT, ACCURACY))
        of_intents = (class_metric(name, part) for name in self.intents for part in OF_SLOTS)
        named = (replace(metric, name=intent_label(metric.name)) for metric in of_intents)
        object.__setattr__(self, "metrics", (*whole, *map(Metric, (*OF_SLOTS.values(), *by_type)), *named))
        super().__post_init__()

    @property
    def tagger(self) -> TaggingTask:
        """The task of the tags alone, which reads no rows."""
        return _tagger(self.name, self.types, self.running_text, self.signs_apart, self.plain)

    @property
    def pooled(self) -> bool:
        """Never: the head reads each word too."""
        return False

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits: tags, then intents."""
        return (*self.tagger.labels, *map(intent_label, self.intents))

    @property
    def label_names(self) -> tuple[str, ...]:
        """The types of slots, and the intents."""
        return (*self.types, *map(intent_label, self.intents))

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the row for a missing word, a wrong tag or intent."""
        return self.checked(self.read(source, split))

    def fault(self, row: IntentRow) -> str:
        if row.gold is not None and row.gold[0] not in self.intents:
            return f"has the intent '{row.gold[0]}'; it must be one of {', '.join(self.intents)}"
        return self.tagger.fault(row.tagged)

    def fits(self, value: Any, row: IntentRow) -> bool:
        whole = isinstance(value, Mapping) and value.keys() == {INTENT, SLOTS}
        return whole and value[INTENT] in self.intents and self.tagger.fits(value[SLOTS], row.tagged)

    def row(self, words: Sequence[str] | str) -> IntentRow:
        """A row of words, or of a text whose words are found as a tagger finds them."""
        return IntentRow(id="", words=()).with_words(self.tagger.row(words))

    def head(self, backbone: "Backbone") -> "IntentHead":
        """The head that reads both outputs."""
        from finetune.task_types.tagging.intent.head import IntentHead

        count = len(self.tagger.labels)
        return IntentHead(backbone, self.labels[:count], self.labels[count:])

    def encode(self, rows: Sequence[IntentRow], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """Windows as in tagging, each with the intent of its row."""
        places = {name: place for place, name in enumerate(self.intents)}
        intents = [None if row.gold is None else places[row.gold[0]] for row in rows]
        features = self.tagger.encode([row.tagged for row in rows], tokenizer, max_length)
        return [
            one if one.label is None else replace(one, label={INTENT: intents[one.row], SLOTS: one.label})
            for one in features
        ]

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[IntentRow]
    ) -> list[Answer]:
        """Tags as in tagging, and the most probable intent by the mean of its logits over the row's windows."""
        tagger, count = self.tagger, len(self.tagger.labels)
        tags = tagger.decode(
            [given[:, :count] for given in logits],
            [one if one.label is None else replace(one, label=one.label[SLOTS]) for one in features],
            [row.tagged for row in rows],
        )
        chances = self._chances([given[0, count:] for given in logits], features, len(rows))
        return [self._answer(*each) for each in zip(rows, tags, chances, strict=True)]

    def cells(self, answer: Answer, row: IntentRow) -> dict[str, Any]:
        """The intent and the tags; the intent by itself with its probability, and what tagging says of the tags."""
        return with_intent(answer, self.tagger.cells(slots_of(answer), row.tagged))

    def confidence(self, answer: Answer, row: IntentRow) -> float | None:
        """That of the intent, or of the word's tag that it is least sure of."""
        return None if answer.probabilities is None else float(min(answer.probabilities))

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        """The intent, and the labelled tokens with their tags."""
        if feature.label is None:
            return "none"
        tags = self.tagger.shown_label(replace(feature, label=feature.label[SLOTS]), tokens)
        return f"{self.intents[feature.label[INTENT]]}: {tags}"

    def _chances(self, logits: Sequence[np.ndarray], features: Sequence[Feature], count: int) -> np.ndarray:
        """The probability of each intent `(rows, intents)`; equal ones for a text without a token."""
        from scipy.special import softmax

        sums, windows = np.zeros((count, len(self.intents))), np.zeros((count, 1))
        for given, feature in zip(logits, features, strict=True):
            sums[feature.row] += given
            windows[feature.row] += 1
        return np.asarray(softmax(sums / np.maximum(windows, 1), axis=-1))

    def _answer(self, row: IntentRow, tags: Answer, chances: np.ndarray) -> TagsAnswer:
        best, own = int(chances.argmax()), None
        if row.gold is not None and isinstance(tags, TagsAnswer):
            own = [float(chances[self.intents.index(row.gold[0])]), *(tags.label_probabilities or ())]
        return TagsAnswer(
            value=as_value(self.intents[best], tags.value),
            probabilities=[float(chances[best]), *(tags.probabilities or ())],
            label_probabilities=own,
        )

    def labels_of(self, rows: Sequence[IntentRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else as_value(*row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[IntentRow]) -> dict[str, float]:
        """Every metric; those of the slots are of entities, as conlleval counts them."""
        return {name: counted.score for name, counted in self.sums(answers, rows).items()}

    def sums(self, answers: Sequence[Answer], rows: Sequence[IntentRow]) -> dict[str, Counted]:
        """All metrics."""
        labels = [answer.value for answer in self.labels_of(rows)]
        right = [label == answer.value for label, answer in zip(labels, answers, strict=True)]
        hits = [label[INTENT] == answer.value[INTENT] for label, answer in zip(labels, answers, strict=True)]
        found = {EXACT: mean_counted(right), ACCURACY: mean_counted(hits)}
        tagged = self.tagger.sums(list(map(slots_of, answers)), [row.tagged for row in rows])
        slots = {OF_SLOTS.get(name, name): counted for name, counted in tagged.items()}
        found |= {name: counted for name, counted in slots.items() if name in self.metric_names}
        sides = [[value.value[INTENT] for value in side] for side in (self.labels_of(rows), answers)]
        return found | {metric.name: metric.sums(*sides) for metric in self.metrics if metric.sums is not None}

    def score_notes(self, answers: Sequence[Answer], rows: Sequence[IntentRow]) -> list[str]:
        """As in tagging: how many tags continue an entity that no tag began."""
        return self.tagger.score_notes(list(map(slots_of, answers)), [row.tagged for row in rows])

    def baselines(self, train: Sequence[IntentRow], rows: Sequence[IntentRow]) -> dict[str, list[Answer]]:
        """The same tags twice, with two intents for each row."""
        tagger = self.tagger
        ((name, tags),) = tagger.baselines([r.tagged for r in train], [r.tagged for r in rows]).items()
        intents = [row.gold[0] for row in train if row.gold is not None]
        constant = baselines.majority(intents, len(rows))
        tfidf, _, _ = baselines.tfidf_classify([(r.input,) for r in train], intents, [(r.input,) for r in rows])
        return {
            method: [Answer(value=as_value(*each)) for each in zip(found, (tag.value for tag in tags), strict=True)]
            for method, found in ((name, constant), ("tfidf-logistic", tfidf))
        }

    def baseline_notes(self, train: Sequence[IntentRow]) -> list[str]:
        """A note on how many rows TF-IDF read, where these are not all."""
        return tfidf_notes([TextRow(id=row.id, text=row.input) for row in train])

    def explain_texts(self, row: IntentRow) -> list[list[NamedText]]:
        return self.tagger.explain_texts(row.tagged)

    def explain_target(
        self, row: IntentRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        """The intent, by the mean of its logit over the windows; with `word` the tag of that word.

        A logit, not log-odds: the others at its place are of tags and of intents.
        """
        if asked.word is not None:
            found = self.tagger.explain_target(row.tagged, slots_of(answer), features, asked)
            bare = [
                Target(label=one.label, picks=[replace(pick, against=None) for pick in one.picks])
                for one in found.targets
            ]
            return replace(found, targets=bare)
        if asked.label not in self.intents and asked.label in (*self.tagger.labels, *self.types):
            raise UserError(
                f"`label` '{asked.label}' is of the slots, and a tag is explained for one word",
                f"Name the word with `word` and its tag, such as B-{self.types[0]}, or leave `label` out",
            )
        name = asked.one_of(self.intents) or answer.value[INTENT]
        place = 0, len(self.tagger.labels) + self.intents.index(name)
        picks = [Pick(feature=n, place=place, weight=1 / len(features)) for n in range(len(features))]
        chance = None if answer.probabilities is None else float(answer.probabilities[0])
        return ExplainTarget(
            prediction=answer.value[INTENT], confidence=chance, targets=[Target(label=name, picks=picks)]
        )


@lru_cache(maxsize=8)
def _tagger(name: str, types: tuple[str, ...], running_text: bool, signs_apart: bool, plain: bool) -> TaggingTask:
    """Kept, as it is asked of for each row, and makes a metric for each type."""
    return TaggingTask(
        name=name, types=types, running_text=running_text, signs_apart=signs_apart, plain=plain,
        read=lambda _, split: Rows(rows=(), origin=split),
    )  # fmt: skip
