"""Tasks on texts and pairs (Devlin et al. 2019, Figure 4 a and b): a class, a number or steps, or several labels."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.ordinal import LEAST_ORDERED
from finetune.metrics.relations import auprc, mean_area
from finetune.metrics.scores import exact_match_of_sets, macro_f1_of_sets, micro_f1_of_sets
from finetune.metrics.sums import Counted, macro_f1_counted, mean_counted, micro_f1_counted, part_counted, set_counts
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
    read_by_tfidf,
)
from finetune.task_types.declared_options import option
from finetune.task_types.explained import NamedText
from finetune.task_types.parts import Answer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.classification.head import LabelHead

READ_AT = "of two marked spans the head reads `cls`, the vector of the text, or `markers`, those of both"
ENTITY_TYPES = "the markers of spans say the type of the entity, where the data has one: `<subj:PER>`"
CLASS_WEIGHT = "`balanced`: rare labels get as much weight in the loss as frequent ones"
ORDINAL = "ordered labels are learned as steps (CORN), so that a near miss costs less than a far one"
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

    @property
    def teach(self) -> tuple[str, ...] | None:
        """The labels; steps and numbers are not taught."""
        return self.labels if self.kind == "class" else None

    def unused_options(self) -> tuple[str, ...]:
        """As for `Task`; regression has no class weights, texts with two spans no windows, and two labels no steps.

        Of three labels or more a user's own may get an order, so that the option is there to say what it needs.
        """
        of_spans = ("windows",) if self.spans else ("entity_types", "read_at")
        may_be_ordered = len(self.labels) >= LEAST_ORDERED and (self.order or hasattr(self.read, "layout"))
        return (*(("class_weight",) if self.regression else ()), *(() if may_be_ordered else ("ordinal",)), *of_spans)

    @property
    def kind(self) -> LabelKind:
        """A class, steps, or without labels a number."""
        return "number" if self.regression else "steps" if self.ordinal else "class"

    @property
    def pooled(self) -> bool:
        """Whether the head reads the vector of a text, not those of markers."""
        return not self.spans or self.read_at == "cls"

    @property
    def regression(self) -> bool:
        """Whether the label is a number."""
        return not self.labels

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

    def head(self, backbone: "Backbone") -> "LabelHead":
        """The head of Figure 4 (a) and (b), or that of two markers."""
        from finetune.task_types.classification.head import LabelHead, MarkerHead

        names = logit_names(self) or ("score",)
        return (LabelHead if self.pooled else MarkerHead)(
            backbone, names, kind=self.kind, class_weights=self.class_weights
        )

    def encoded(
        self, rows: Sequence[SentenceRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> Iterable[Sequence[EncodedText]]:
        """As for pairs and single texts; a text with two marked spans is cut around them."""
        if not self.spans:
            return super().encoded(rows, tokenizer, max_length)
        texts, names = [self._marked(row) for row in rows], [row.id for row in rows]
        encoded = encode_marked(texts, tokenizer, max_length, self.spans, names=names)
        return ([one if self.read_at == "markers" else replace(one, reads=None)] for one in encoded)

    def new_tokens(self, rows: Iterable[SentenceRow]) -> Sequence[str]:
        """The markers of spans in the rows."""
        return distinct_markers(map(self._marked, rows), self.spans) if self.spans else ()

    def truncation_note(self, max_length: int) -> str:
        if not self.spans:
            return super().truncation_note(max_length)
        return f"are longer than max_length {max_length}: {CUT_AROUND}"

    def _marked(self, row: SentenceRow) -> str:
        return without_types(row.text, self.spans) if self.spans and not self.entity_types else row.text

    def label_for_loss(self, row: SentenceRow) -> int | float | None:
        if row.gold is None:
            return None
        return self.labels.index(row.gold) if isinstance(row.gold, str) else float(row.gold)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SentenceRow]
    ) -> list[Answer]:
        """The most probable label; for regression the logit. Logits of several windows are averaged.

        Of steps it is the label that is as likely to be exceeded as not (CORN's rule): the median, not the mode.
        """
        if self.regression:
            return super().decode(logits, features, rows)
        means = logits_by_row(logits, features, len(rows))
        if self.ordinal:
            above = above_chances(np.array(means))
            chances, places = label_chances(above), (above > 0.5).sum(1)
        else:
            from scipy.special import softmax

            chances = softmax(means, axis=-1)
            places = chances.argmax(1)
        pairs = zip(places, chances, strict=True)
        return [Answer(value=self.labels[place], probabilities=[float(p) for p in row]) for place, row in pairs]

    def score(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> dict[str, float]:
        """Every metric; the area under precision-recall curves from probabilities, where the task has it."""
        found = super().score(answers, rows)
        if auprc.name in self.metric_names:  # a label without probabilities is certain
            chances = [one.probabilities or [float(label == one.value) for label in self.labels] for one in answers]
            found[auprc.name] = mean_area([str(row.gold) for row in rows], np.array(chances), self.labels)
        return found

    def score_notes(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> list[str]:
        """Notes where constant labels or predictions leave correlation undefined."""
        columns = {"labels": [row.gold for row in rows], "predictions": [answer.value for answer in answers]}
        constant = [name for name, values in columns.items() if self.regression and len(set(values)) == 1]
        return [f"the {name} are constant: correlation is undefined, and scored as 0" for name in constant]

    def baselines(self, train: Sequence[SentenceRow], rows: Sequence[SentenceRow]) -> dict[str, list[Answer]]:
        """Majority or mean, and TF-IDF with a linear model."""
        gold: list[Any] = [row.gold for row in train]
        texts, seen = zip(*((row.texts, row.gold) for row in read_by_tfidf(train)), strict=True)
        unseen = [row.texts for row in rows]
        if self.regression:
            numbers = {"mean": baselines.mean(gold, len(rows))}
            numbers["tfidf-ridge"] = baselines.tfidf_regress(texts, seen, unseen)
            return {name: [Answer(value=value) for value in values] for name, values in numbers.items()}
        constant = [Answer(value=label) for label in baselines.majority(gold, len(rows))]
        labels, probabilities, classes = baselines.tfidf_classify(texts, seen, unseen)
        columns = [classes.index(label) if label in classes else None for label in self.labels]
        tfidf = [
            Answer(value=label, probabilities=[0.0 if c is None else float(row[c]) for c in columns])
            for label, row in zip(labels, probabilities, strict=True)
        ]
        return {"majority": constant, "tfidf-logistic": tfidf}

    def explain_texts(self, row: SentenceRow) -> list[list[NamedText]]:
        """The text, or both texts of a pair, with the markers that the model reads."""
        return super().explain_texts(replace(row, text=self._marked(row)))


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
    cross_fits = True

    def __post_init__(self) -> None:
        if self.thresholds is not None and len(self.thresholds) != len(self.labels):
            raise UserError(
                f"'thresholds' has {so_many(len(self.thresholds), 'number')}, and {self.name} has "
                f"{so_many(len(self.labels), 'label')}",
                f"Give one for each of {', '.join(self.labels)}",
            )
        by_label = (Metric(f"{label}/{part}") for label in self.labels for part in PARTS)
        over_all = (micro_f1_of_sets, macro_f1_of_sets, exact_match_of_sets)
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
        known = isinstance(value, list) and all(label in self.labels for label in value)
        return known and len(set(value)) == len(value)

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

        return self._answers(expit(logits_by_row(logits, features, len(rows)).astype(np.float64)))

    def _answers(self, probabilities: np.ndarray) -> list[Answer]:
        return self.decided_again([Answer(value=[], probabilities=row.tolist()) for row in probabilities])

    def decided_again(self, answers: Sequence[Answer]) -> list[Answer]:
        """The predictions with the current thresholds; those without probabilities are unchanged."""
        thresholds = self.thresholds or [EVEN] * len(self.labels)
        return [
            replace(answer, value=self._names(np.asarray(answer.probabilities) >= thresholds))
            if answer.probabilities is not None
            else answer
            for answer in answers
        ]

    def _in_order(self, chosen: Sequence[str]) -> list[str]:
        return [label for label in self.labels if label in chosen]

    def _names(self, marks: Any) -> list[str]:
        return [self.labels[index] for index in np.flatnonzero(marks)]

    def confidence(self, answer: Answer, row: MultiLabelRow) -> float | None:
        """That of the label which it is least sure of."""
        chances = answer.probabilities
        return None if chances is None else min((max(p, 1 - p) for p in chances), default=1.0)

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        return ", ".join(self._names(feature.label or ())) or "none"

    def labels_of(self, rows: Sequence[MultiLabelRow]) -> list[Answer]:
        """The rows' labels, in the task's order."""
        return [Answer(value=None if row.gold is None else self._in_order(row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, float]:
        """Micro F1, macro F1 over the labels that occur, exact match; and scores by label."""
        return {name: counted.score for name, counted in self.sums(answers, rows).items()}

    def sums(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Counted]:
        gold, given = [row.gold or () for row in rows], [answer.value for answer in answers]
        found = self._matrix(rows).astype(float)
        answered = np.array([[label in some for label in self.labels] for some in given], dtype=float)
        counts = found * answered, answered, found
        metrics = {
            "micro f1": micro_f1_counted(*set_counts(gold, given)),
            "macro f1": macro_f1_counted(*counts, none=1.0),
            "exact match": mean_counted([set(a) == set(b) for a, b in zip(gold, given, strict=True)]),
        }
        for index, label in enumerate(self.labels):
            for part in PARTS:
                metrics[f"{label}/{part}"] = part_counted(part, *(each[:, index] for each in counts))
        return metrics

    def tune(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Any]:
        """The best threshold of each label on these rows, where the predictions have probabilities."""
        if self.thresholds is not None or any(answer.probabilities is None for answer in answers):
            return {}
        count = len(self.labels)
        probabilities = np.nan_to_num([answer.probabilities or () for answer in answers]).reshape(-1, count)
        there = self._matrix(rows)
        return {"thresholds": [best_f1_threshold(there[:, i], probabilities[:, i]) for i in range(count)]}

    def baselines(self, train: Sequence[MultiLabelRow], rows: Sequence[MultiLabelRow]) -> dict[str, list[Answer]]:
        """The most frequent set of labels, and TF-IDF with a linear model for each label."""
        sets = [tuple(self._in_order(row.gold or ())) for row in train]
        constant = [Answer(value=list(labels)) for labels in baselines.majority(sets, len(rows))]
        read = read_by_tfidf(train)
        texts, unseen = [row.texts for row in read], [row.texts for row in rows]
        tfidf = self._answers(baselines.tfidf_multilabel(texts, self._matrix(read), unseen))
        return {"majority": constant, "tfidf-logistic": tfidf}

    def _matrix(self, rows: Sequence[MultiLabelRow]) -> np.ndarray:
        marks = [[label in (row.gold or ()) for label in self.labels] for row in rows]
        return np.array(marks, dtype=bool).reshape(-1, len(self.labels))


def logit_names(task: PooledTask) -> tuple[str, ...]:
    """The labels; of ordered ones `above bad`, `above ok`: all but the last."""
    return tuple(f"above {label}" for label in task.label_names[:-1]) if task.kind == "steps" else task.label_names


def above_chances(logits: np.ndarray) -> np.ndarray:
    """The probability of being above each label but the last, `(rows, labels - 1)`, which never rises."""
    from scipy.special import expit

    return np.cumprod(expit(logits), axis=-1)


def label_chances(above: np.ndarray) -> np.ndarray:
    """The probability of each label `(rows, labels)`."""
    ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
    return -np.diff(np.concatenate([ends[0], above, ends[1]], axis=1), axis=1)


def best_f1_threshold(gold: np.ndarray, probabilities: np.ndarray) -> float:
    """The threshold with the best F1 for one label; of several that are as good the one nearest to 0.5.

    `gold` and `probabilities` are `(rows,)`. It is 0.5, or midway between two of the probabilities.
    """
    order = np.argsort(probabilities)
    found = np.unique(np.concatenate([[0.0], probabilities, [1.0]]))
    thresholds = np.append((found[1:] + found[:-1]) / 2, EVEN)
    below = np.searchsorted(probabilities[order], thresholds)  # rows below each threshold
    right = gold.sum() - np.concatenate([[0], np.cumsum(gold[order])])[below]
    f1 = 2 * right / np.maximum(1, len(gold) - below + gold.sum())
    best = thresholds[f1 >= f1.max() - 1e-12]
    return float(best[np.abs(best - EVEN).argmin()])
