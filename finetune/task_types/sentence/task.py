"""Sentences and pairs on the pooled output (Devlin et al. 2019, Figure 4 a and b): classes, numbers, steps."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from finetune.errors import UserError
from finetune.metrics.ordinal import LEAST_ORDERED
from finetune.metrics.relations import auprc, mean_area
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.declared_options import option
from finetune.task_types.explained import Asked, ExplainTarget, NamedText
from finetune.task_types.parts import Answer, Teaching
from finetune.task_types.pooled import (
    WINDOWS,
    PooledTask,
    TextRow,
    logits_by_row,
    read_by_tfidf,
)
from finetune.task_types.sentence.corn import above_chances, label_chances, logit_names
from finetune.task_types.sentence.marked import encode_marked
from finetune.task_types.text_inputs import explained
from finetune.task_types.text_inputs.markers import CUT_AROUND, distinct_markers, marker_fault, without_types

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.sentence.head import LabelKind, MarkerHead, SentenceHead

READ_AT = "of two marked spans the head reads `cls`, the vector of the text, or `markers`, those of both"
ENTITY_TYPES = "the markers of spans say the type of the entity, where the data has one: `<subj:PER>`"
CLASS_WEIGHT = "`balanced`: rare labels get as much weight in the loss as frequent ones"
ORDINAL = "ordered labels are learned as steps (CORN), so that a near miss costs less than a far one"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRow(TextRow):
    """A sentence or a pair with its label (`gold`): a name, a number, or None where it is unknown."""

    gold: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class SentenceTask(PooledTask):
    """Classification into `labels`; without labels, regression.

    With `class_weight = "balanced"` all classes have equal weight in the loss, however many rows they have. `spans` are
    the opening markers of the two spans that each text has, such as `("<subj>", "<obj>")`: they become tokens, which
    are never cut off. `order` are labels from lowest to highest, where they have an order; with `ordinal` they are
    learned as steps, and are in this order everywhere.
    """

    labels: tuple[str, ...] = ()
    class_weight: Literal["none", "balanced"] = option("none", CLASS_WEIGHT)
    windows: bool = option(False, WINDOWS)
    spans: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    ordinal: bool = option(False, ORDINAL)
    entity_types: bool = option(True, ENTITY_TYPES)
    read_at: Literal["cls", "markers"] = option("cls", READ_AT)
    class_weights: tuple[float, ...] = ()  # one per label, set by `fit` from the training rows
    row_type = SentenceRow

    def __post_init__(self) -> None:
        """Raises UserError as `Task` does, and for steps between labels without an order."""
        super().__post_init__()
        if not self.ordinal:
            return
        if len(self.order) < LEAST_ORDERED:
            raise UserError(
                f"ordinal=true needs ordered labels, and the order of {', '.join(self.labels)} is not known",
                "Name them from the lowest to the highest: order=LABEL,LABEL,LABEL",
            )
        object.__setattr__(self, "labels", self.order)  # probabilities are of steps in this order

    def unused_options(self) -> tuple[str, ...]:
        """As for `Task`; regression has no class weights, texts with two spans no windows, and two labels no steps.

        Of three labels or more a user's own may get an order, so that the option is there to say what it needs.
        """
        of_spans = ("windows",) if self.spans else ("entity_types", "read_at")
        may_be_ordered = len(self.labels) >= LEAST_ORDERED and (self.order or hasattr(self.read, "layout"))
        return (*(("class_weight",) if self.regression else ()), *(() if may_be_ordered else ("ordinal",)), *of_spans)

    @property
    def pooled(self) -> bool:
        """Whether the head reads the vector of a text, not those of markers."""
        return not self.spans or self.read_at == "cls"

    @property
    def regression(self) -> bool:
        """Whether the label is a number."""
        return not self.labels

    @property
    def teach(self) -> Teaching:
        """A row's classes or steps, or its number."""
        if self.ordinal:
            return Teaching(learns="flags", labels=logit_names(self.labels))
        return Teaching(learns="number" if self.regression else "class", labels=self.labels)

    def fit(self, train: Sequence[SentenceRow]) -> "SentenceTask":
        """The task with its inputs and class weights: n / (k * n of the class), whose mean over the rows is 1."""
        task = super().fit(train)
        if self.class_weight == "none" or self.regression:
            return task
        counts = Counter(row.gold for row in train)
        each = len(train) / len(counts)
        return replace(task, class_weights=tuple(each / counts.get(label, each) for label in self.labels))

    def fault(self, row: SentenceRow) -> str:
        if self.spans and (fault := marker_fault(row.text, self.spans)):
            return fault
        if row.gold is None or self.fits(row.gold, row):
            return ""
        expected = f"one of {', '.join(self.labels)}" if self.labels else "a number"
        return f"has the label {row.gold!r}; expected {expected}"

    def fits(self, value: Any, row: SentenceRow) -> bool:
        if self.regression:
            return isinstance(value, int | float) and math.isfinite(value)
        return value in self.labels

    def head(self, backbone: "Backbone") -> "SentenceHead | MarkerHead":
        """The head of Figure 4 (a) and (b), or that of two markers."""
        from finetune.task_types.sentence.head import MarkerHead, SentenceHead

        kind: LabelKind = "number" if self.regression else "steps" if self.ordinal else "class"
        names = logit_names(self.labels) if self.ordinal else self.labels or ("score",)
        return (SentenceHead if self.pooled else MarkerHead)(
            backbone, names, kind=kind, class_weights=self.class_weights
        )

    def encode(
        self, rows: Sequence[SentenceRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """As for pairs and single texts; a text with two marked spans is cut around them."""
        if not self.spans:
            return super().encode(rows, tokenizer, max_length)
        texts, names = [self._read(row) for row in rows], [row.id for row in rows]
        encoded = encode_marked(texts, tokenizer, max_length, self.spans, names=names)
        return [
            Feature(
                row=index,
                input_ids=one.ids,
                token_type_ids=one.segments,
                label=self.label_for_loss(rows[index]),
                reads=one.reads if self.read_at == "markers" else None,
                truncated=one.truncated,
            )
            for index, one in enumerate(encoded)
        ]

    def new_tokens(self, rows: Iterable[SentenceRow]) -> Sequence[str]:
        """The markers of spans in the rows."""
        return distinct_markers(map(self._read, rows), self.spans) if self.spans else ()

    def truncation_note(self, max_length: int) -> str:
        if not self.spans:
            return super().truncation_note(max_length)
        return f"are longer than max_length {max_length}: {CUT_AROUND}"

    def _read(self, row: SentenceRow) -> str:
        """The text with the markers that the model knows."""
        return row.text if self.entity_types else without_types(row.text, self.spans)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SentenceRow]
    ) -> list[Answer]:
        """The most probable label; for regression the logit. Logits of several windows are averaged.

        Of steps it is the label that is as likely to be exceeded as not (CORN's rule): the median, not the mode.
        """
        means = logits_by_row(logits, features, len(rows))
        if self.regression:
            return [Answer(value=float(row[0])) for row in means]
        if self.ordinal:
            above = above_chances(np.array(means))
            places = (above > 0.5).sum(1).tolist()
            return [self._answer(row, place) for row, place in zip(label_chances(above), places, strict=True)]
        from scipy.special import softmax

        return [self._answer(row, int(row.argmax())) for row in softmax(means, axis=-1)]

    def label_for_loss(self, row: SentenceRow) -> int | float | None:
        if row.gold is None:
            return None
        return self.labels.index(row.gold) if isinstance(row.gold, str) else float(row.gold)

    def _answer(self, probabilities: np.ndarray, place: int) -> Answer:
        return Answer(value=self.labels[place], probabilities=[float(p) for p in probabilities])

    def score(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> dict[str, float]:
        """Every metric; the area under precision-recall curves from probabilities, where the task has it."""
        found = super().score(answers, rows)
        if auprc.name in self.metric_names:
            gold = [str(row.gold) for row in rows]
            found[auprc.name] = mean_area(gold, np.array([self._chances(one) for one in answers]), self.labels)
        return found

    def _chances(self, answer: Answer) -> Sequence[float]:
        """The probability of each label; a label without them is certain."""
        return answer.probabilities or [float(label == answer.value) for label in self.labels]

    def score_notes(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> list[str]:
        """Notes where constant labels or predictions leave correlation undefined."""
        columns = {"labels": [row.gold for row in rows], "predictions": [answer.value for answer in answers]}
        constant = [name for name, values in columns.items() if self.regression and len(set(values)) == 1]
        return [f"the {name} are constant: correlation is undefined, and scored as 0" for name in constant]

    def baselines(self, train: Sequence[SentenceRow], rows: Sequence[SentenceRow]) -> dict[str, list[Answer]]:
        """Majority or mean, and TF-IDF with a linear model."""
        gold, unseen = [row.gold for row in train], [row.texts for row in rows]
        texts, seen = zip(*((row.texts, row.gold) for row in read_by_tfidf(train)), strict=True)
        if self.regression:
            constant = baselines.mean(gold, len(rows))  # type: ignore[arg-type]
            ridge = baselines.tfidf_regress(texts, seen, unseen)
            return {"mean": _answers(constant), "tfidf-ridge": _answers(ridge)}
        constant_label = baselines.majority(gold, len(rows))  # type: ignore[type-var]
        labels, probabilities, classes = baselines.tfidf_classify(texts, seen, unseen)
        columns = [classes.index(label) if label in classes else None for label in self.labels]
        tfidf = [
            Answer(value=label, probabilities=[0.0 if c is None else float(row[c]) for c in columns])
            for label, row in zip(labels, probabilities, strict=True)
        ]
        return {"majority": _answers(constant_label), "tfidf-logistic": tfidf}

    def explain_texts(self, row: SentenceRow) -> list[list[NamedText]]:
        """The text, or both texts of a pair, with the markers that the model reads."""
        shown = without_types(row.text, self.spans) if self.spans and not self.entity_types else row.text
        return super().explain_texts(replace(row, text=shown))

    def explain_target(
        self, row: SentenceRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        if self.regression:
            return explained.score_target(answer, features, asked)
        if self.ordinal:
            return explained.step_target(self.labels, answer, features, asked)
        return explained.label_target(self.labels, answer, features, asked)


def _answers(values: Sequence[object]) -> list[Answer]:
    return [Answer(value=value) for value in values]
