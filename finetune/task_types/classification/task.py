"""Tasks on texts and pairs (Devlin et al. 2019, Figure 4 a and b): a class or a number, or several labels."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Counted, Metric
from finetune.metrics.scores import auprc, exact_match_of_sets, macro_f1_of_sets, mean_area, micro_f1_of_sets
from finetune.metrics.sums import macro_f1_counted, mean_counted, micro_f1_counted, part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.classification.marked import (
    CUT_AROUND,
    distinct_markers,
    encode_marked,
    marker_fault,
    without_types,
)
from finetune.task_types.classification.texts import (
    WINDOWS,
    EncodedText,
    LabelKind,
    PooledTask,
    TextRow,
    logits_by_row,
)
from finetune.task_types.declared import option
from finetune.task_types.explained import Asked, ExplainTarget
from finetune.task_types.parts import Answer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.classification.head import LabelHead

ENTITY_TYPES = "the markers of spans say the type of the entity, where the data has one: `<subj:PER>`"
CLASS_WEIGHT = "`balanced`: rare labels get as much weight in the loss as frequent ones"
THRESHOLDS = "the probability from which each label is predicted, in their order; chosen on dev if not given"
EVEN = 0.5  # a label's threshold before calibration
PARTS = ("f1", "precision", "recall")  # scores of each label
Probability = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRow(TextRow):
    """A sentence or a pair with its label (`gold`): a name, a number, or None where it is unknown."""

    gold: str | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiLabelRow(TextRow):
    """A sentence or a pair with the names of its labels, perhaps none; None where they are unknown."""

    gold: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SentenceTask(PooledTask):
    """Classification into `labels`; without labels, regression.

    With `class_weight = "balanced"` all classes have equal weight in the loss, however many rows they have. `spans` are
    the opening markers of the two spans that each text has, such as `("<subj>", "<obj>")`: they become tokens, which
    are never cut off. `order` are labels from lowest to highest, where they have an order.
    """

    labels: tuple[str, ...] = ()
    class_weight: Literal["none", "balanced"] = option("none", CLASS_WEIGHT)
    windows: bool = option(False, WINDOWS)
    spans: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    entity_types: bool = option(True, ENTITY_TYPES)
    class_weights: tuple[float, ...] = ()  # one per label, set by `fit` from the training rows
    row_type = SentenceRow

    @property
    def kind(self) -> LabelKind:
        """A class, or without labels a number."""
        return "class" if self.labels else "number"

    @property
    def teach(self) -> tuple[str, ...] | None:
        """The labels; numbers are not taught."""
        return self.labels or None

    @property
    def truncated(self) -> str:  # type: ignore[override]
        return f"are longer than max_length {{max_length}}: {CUT_AROUND}" if self.spans else super().truncated

    def unused_options(self) -> tuple[str, ...]:
        """Class weights in regression, and windows of texts with two spans; types of these in other texts."""
        return ("windows" if self.spans else "entity_types", *(() if self.labels else ("class_weight",)))

    def fit(self, train: Sequence[SentenceRow]) -> "SentenceTask":
        """The task with its inputs and class weights: n / (k * n of the class), whose mean over the rows is 1."""
        task = super().fit(train)
        if self.class_weight == "none" or not self.labels:
            return task
        counts = Counter(row.gold for row in train)
        even = len(train) / len(counts)
        return replace(task, class_weights=tuple(even / counts.get(label, even) for label in self.labels))

    def fault(self, row: SentenceRow) -> str:
        if self.spans and (fault := marker_fault(row.text, self.spans)):
            return fault
        if row.gold is None or self.fits(row.gold, row):
            return ""
        expected = f"one of {', '.join(self.labels)}" if self.labels else "a number"
        return f"has the label {row.gold!r}; expected {expected}"

    def fits(self, value: Any, row: SentenceRow) -> bool:
        if self.labels:
            return value in self.labels
        return isinstance(value, int | float) and math.isfinite(value)

    def head(self, backbone: "Backbone") -> "LabelHead":
        """The head of Figure 4 (a) and (b)."""
        from finetune.task_types.classification.head import LabelHead

        return LabelHead(backbone, self.labels or ("score",), kind=self.kind, class_weights=self.class_weights)

    def encoded(
        self, rows: Sequence[SentenceRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> Iterable[Sequence[EncodedText]]:
        """As for pairs and single texts; a text with two marked spans is cut around them."""
        if self.spans:
            return ([text] for text in encode_marked(self._read(rows), tokenizer, max_length, self.spans))
        return super().encoded(rows, tokenizer, max_length)

    def new_tokens(self, rows: Iterable[SentenceRow]) -> Sequence[str]:
        """The markers of spans in the rows."""
        return distinct_markers((row.text for row in self._read(rows)), self.spans) if self.spans else ()

    def _read(self, rows: Iterable[SentenceRow]) -> list[SentenceRow]:
        """The rows as the model reads them."""
        if not self.spans or self.entity_types:
            return list(rows)
        return [replace(row, text=without_types(row.text, self.spans)) for row in rows]

    def label_for_loss(self, row: SentenceRow) -> int | float | None:
        if row.gold is None:
            return None
        return self.labels.index(row.gold) if isinstance(row.gold, str) else float(row.gold)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SentenceRow]
    ) -> list[Answer]:
        """The most probable label; for regression the logit. Logits of several windows are averaged."""
        if not self.labels:
            return super().decode(logits, features, rows)
        from scipy.special import softmax

        chances = softmax(logits_by_row(logits, features, len(rows)), axis=-1)
        best = chances.argmax(1)
        return [
            Answer(value=self.labels[place], probabilities=[float(p) for p in row])
            for place, row in zip(best, chances, strict=True)
        ]

    def score(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> dict[str, float]:
        """Every metric; the area under precision-recall curves from probabilities, where the task has it."""
        scores = super().score(answers, rows)
        if auprc.name in self.metric_names:  # a label without probabilities is certain
            chances = [
                answer.probabilities or [float(label == answer.value) for label in self.labels] for answer in answers
            ]
            scores[auprc.name] = mean_area([str(row.gold) for row in rows], np.array(chances), self.labels)
        return scores

    def baselines(self, train: Sequence[SentenceRow], rows: Sequence[SentenceRow]) -> dict[str, list[Answer]]:
        """Majority or mean, and TF-IDF with a linear model."""
        gold: list[Any] = [row.gold for row in train]
        texts, unseen = [row.texts for row in train], [row.texts for row in rows]
        if not self.labels:
            numbers = {"mean": baselines.mean(gold, len(rows))}
            numbers["tfidf-ridge"] = baselines.tfidf_regress(texts, gold, unseen)
            return {name: [Answer(value=value) for value in values] for name, values in numbers.items()}
        constant = [Answer(value=label) for label in baselines.majority(gold, len(rows))]
        names, probabilities, classes = baselines.tfidf_classify(texts, gold, unseen)
        columns = [classes.index(label) if label in classes else None for label in self.labels]
        tfidf = [
            Answer(value=label, probabilities=[0.0 if c is None else float(row[c]) for c in columns])
            for label, row in zip(names, probabilities, strict=True)
        ]
        return {"majority": constant, "tfidf-logistic": tfidf}

    def explain_target(
        self, row: SentenceRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        (read,) = self._read([row])
        return super().explain_target(read, answer, features, asked)


@dataclass(frozen=True, kw_only=True)
class MultiLabelTask(PooledTask):
    """Predicts any number of `labels` per row; a prediction is a list of them, in the task's order.

    A label is predicted if its probability reaches the label's threshold: `thresholds` are in the order of the labels,
    and chosen on dev for each label's F1 unless they are given. Dev itself is scored with thresholds that other rows of
    it chose, because a threshold fitted to the scored rows inflates the F1 of rare labels.
    """

    version: int = 2  # version 1 scored dev with thresholds chosen on the same rows
    labels: tuple[str, ...]
    windows: bool = option(False, WINDOWS)
    thresholds: Sequence[Probability] | None = option(None, THRESHOLDS)
    metrics: tuple[Metric, ...] = ()
    row_type = MultiLabelRow

    def __post_init__(self) -> None:
        if self.thresholds is not None and len(self.thresholds) != len(self.labels):
            raise UserError(
                f"'thresholds' has {so_many(len(self.thresholds), 'number')}, and {self.name} has "
                f"{so_many(len(self.labels), 'label')}",
                f"Give one for each of {', '.join(self.labels)}",
            )
        over_all = [micro_f1_of_sets, macro_f1_of_sets, exact_match_of_sets]
        by_label = (Metric(f"{label}/{part}") for label in self.labels for part in PARTS)
        object.__setattr__(self, "metrics", (*over_all, *by_label))
        super().__post_init__()

    @property
    def kind(self) -> LabelKind:
        """Each label, there or not."""
        return "flags"

    def fault(self, row: MultiLabelRow) -> str:
        if row.gold is None or self.fits(list(row.gold), row):
            return ""
        return f"has the labels {', '.join(row.gold)}; allowed are, each once: {', '.join(self.labels)}"

    def fits(self, value: Any, row: MultiLabelRow) -> bool:
        return isinstance(value, list) and all(value.count(label) == 1 and label in self.labels for label in value)

    def head(self, backbone: "Backbone") -> "LabelHead":
        from finetune.task_types.classification.head import LabelHead

        return LabelHead(backbone, self.labels, kind=self.kind)

    def label_for_loss(self, row: MultiLabelRow) -> list[int] | None:
        """1 for each label of the row, and 0 for others."""
        return None if row.gold is None else [int(label in row.gold) for label in self.labels]

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[MultiLabelRow]
    ) -> list[Answer]:
        from scipy.special import expit

        return self._decided(expit(logits_by_row(logits, features, len(rows)).astype(np.float64)))

    def _decided(self, probabilities: np.ndarray) -> list[Answer]:
        return self.decide([Answer(value=[], probabilities=row.tolist()) for row in probabilities])

    def decide(self, answers: Sequence[Answer]) -> list[Answer]:
        """The predictions with the current thresholds; those without probabilities are unchanged."""
        thresholds = self.thresholds or [EVEN] * len(self.labels)
        return [
            answer
            if (chances := answer.probabilities) is None
            else replace(answer, value=[self.labels[i] for i in np.flatnonzero(np.asarray(chances) >= thresholds)])
            for answer in answers
        ]

    def tune(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Any]:
        """The best threshold of each label on these rows, where the predictions have probabilities."""
        if self.thresholds is not None or any(answer.probabilities is None for answer in answers):
            return {}
        count = len(self.labels)
        probabilities = np.nan_to_num([answer.probabilities or () for answer in answers]).reshape(-1, count)
        gold = self._matrix([row.gold or () for row in rows])
        return {"thresholds": [best_f1_threshold(gold[:, i], probabilities[:, i]) for i in range(count)]}

    def labels_of(self, rows: Sequence[MultiLabelRow]) -> list[Answer]:
        """The rows' labels, in the task's order."""
        golds = [row.gold for row in rows]
        return [Answer(value=None if g is None else [label for label in self.labels if label in g]) for g in golds]

    def sums(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Counted]:
        """Micro F1, macro F1 over the labels that occur, exact match; and scores by label."""
        gold, predicted = [row.gold or () for row in rows], [answer.value for answer in answers]
        labelled, answered = (self._matrix(side).astype(float) for side in (gold, predicted))
        counts = labelled * answered, answered, labelled
        metrics = {
            "micro f1": micro_f1_counted(*set_counts(gold, predicted)),
            "macro f1": macro_f1_counted(*counts, none=1.0),
            "exact match": mean_counted([set(a) == set(b) for a, b in zip(gold, predicted, strict=True)]),
        }
        for index, label in enumerate(self.labels):
            for part in PARTS:
                metrics[f"{label}/{part}"] = part_counted(part, *(side[:, index] for side in counts))
        return metrics

    def baselines(self, train: Sequence[MultiLabelRow], rows: Sequence[MultiLabelRow]) -> dict[str, list[Answer]]:
        """The most frequent set of labels, and TF-IDF with a linear model for each label."""
        sets = [tuple(label.value) for label in self.labels_of(train)]
        constant = [Answer(value=list(labels)) for labels in baselines.majority(sets, len(rows))]
        texts, unseen = [row.texts for row in train], [row.texts for row in rows]
        tfidf = self._decided(baselines.tfidf_multilabel(texts, self._matrix(sets), unseen))
        return {"majority": constant, "tfidf-logistic": tfidf}

    def _matrix(self, sets: Sequence[Sequence[str]]) -> np.ndarray:
        """Whether each of some sets has each label, `(sets, labels)`."""
        marks = [[label in labels for label in self.labels] for labels in sets]
        return np.array(marks, dtype=bool).reshape(-1, len(self.labels))


def best_f1_threshold(gold: np.ndarray, probabilities: np.ndarray) -> float:
    """The threshold with the best F1 for one label; of several that are as good the one nearest to 0.5.

    `gold` and `probabilities` are `(rows,)`. It is 0.5, or midway between two of the probabilities.
    """
    order = np.argsort(probabilities)
    edges = np.unique(np.concatenate([[0.0], probabilities, [1.0]]))
    thresholds = np.append((edges[1:] + edges[:-1]) / 2, EVEN)
    below = np.searchsorted(probabilities[order], thresholds)  # rows below each threshold
    right = gold.sum() - np.concatenate([[0], np.cumsum(gold[order])])[below]
    f1 = 2 * right / np.maximum(1, len(gold) - below + gold.sum())
    best = thresholds[f1 >= f1.max() - 1e-12]
    return float(best[np.abs(best - EVEN).argmin()])
