"""Multi-label classification of a sentence or pair, on the pooled output: one independent logit per label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.scores import exact_match_of_sets, label_set_scores, macro_f1_of_sets, micro_f1_of_sets
from finetune.metrics.sums import Counted, macro_f1_counted, mean_counted, micro_f1_counted, part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.declared_options import option
from finetune.task_types.explained import Asked, ExplainTarget
from finetune.task_types.parts import Answer, Teaching
from finetune.task_types.pooled import (
    WINDOWS,
    PooledTask,
    TextRow,
    logits_by_row,
    read_by_tfidf,
)
from finetune.task_types.text_inputs import explained

if TYPE_CHECKING:
    from finetune.models.backbone import Backbone
    from finetune.task_types.multilabel.head import MultiLabelHead

Probability = Annotated[float, Field(ge=0, le=1)]
EVEN = 0.5  # a label's threshold before calibration

THRESHOLDS = "the probability from which each label is predicted, in their order; chosen on dev if not given"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiLabelRow(TextRow):
    """A sentence or a pair with the names of its labels, perhaps none; None where they are unknown."""

    gold: tuple[str, ...] | None = None


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
        by_label = (Metric(f"{label}/{part}") for label in self.labels for part in ("f1", "precision", "recall"))
        over_all = (micro_f1_of_sets, macro_f1_of_sets, exact_match_of_sets)
        object.__setattr__(self, "metrics", (*over_all, *by_label))
        super().__post_init__()

    @property
    def teach(self) -> Teaching:
        """Each label of a row."""
        return Teaching(learns="flags", labels=self.labels)

    def fault(self, row: MultiLabelRow) -> str:
        if row.gold is None or self.fits(list(row.gold), row):
            return ""
        return f"has the labels {', '.join(row.gold)}; allowed are, each once: {', '.join(self.labels)}"

    def fits(self, value: Any, row: MultiLabelRow) -> bool:
        known = isinstance(value, list) and all(label in self.labels for label in value)
        return known and len(set(value)) == len(value)

    def head(self, backbone: "Backbone") -> "MultiLabelHead":
        from finetune.task_types.multilabel.head import MultiLabelHead

        return MultiLabelHead(backbone, self.labels)

    def label_for_loss(self, row: MultiLabelRow) -> list[int] | None:
        """1 for each label of the row, and 0 for others."""
        return None if row.gold is None else [int(label in row.gold) for label in self.labels]

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[MultiLabelRow]
    ) -> list[Answer]:
        from scipy.special import expit

        probabilities = expit(logits_by_row(logits, features, len(rows)).astype(np.float64))
        return self.decided_again([Answer(value=[], probabilities=row.tolist()) for row in probabilities])

    def confidence(self, answer: Answer, row: MultiLabelRow) -> float | None:
        """That of the label which it is least sure of."""
        chances = answer.probabilities
        return None if chances is None else min((max(p, 1 - p) for p in chances), default=1.0)

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        marks: Any = feature.label or ()
        return ", ".join(self.labels[index] for index in np.flatnonzero(marks)) or "none"

    def decided_again(self, answers: Sequence[Answer]) -> list[Answer]:
        """The predictions with the current thresholds; those without probabilities are unchanged."""
        return [answer if answer.probabilities is None else self._decided(answer) for answer in answers]

    def labels_of(self, rows: Sequence[MultiLabelRow]) -> list[Answer]:
        """The rows' labels, in the task's order."""
        return [Answer(value=None if row.gold is None else _in_order(row.gold, self.labels)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, float]:
        """Micro F1, macro F1 over the labels that occur, exact match; and scores by label."""
        gold, given = [row.gold or () for row in rows], [answer.value for answer in answers]
        scores = {metric.name: metric.score(gold, given) for metric in self.metrics if metric.score is not None}
        for label, (precision, recall, f1) in label_set_scores(gold, given, self.labels).items():
            scores |= {f"{label}/f1": f1, f"{label}/precision": precision, f"{label}/recall": recall}
        return scores

    def sums(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Counted]:
        gold, given = [row.gold or () for row in rows], [answer.value for answer in answers]
        found = _matrix(rows, self.labels).astype(float)
        answered = np.array([[label in some for label in self.labels] for some in given], dtype=float)
        counts = found * answered, answered, found
        metrics = {
            "micro f1": micro_f1_counted(*set_counts(gold, given)),
            "macro f1": macro_f1_counted(*counts, none=1.0),
            "exact match": mean_counted([set(a) == set(b) for a, b in zip(gold, given, strict=True)]),
        }
        for index, label in enumerate(self.labels):
            for part in ("f1", "precision", "recall"):
                metrics[f"{label}/{part}"] = part_counted(part, *(each[:, index] for each in counts))
        return metrics

    def tune(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Any]:
        """The best threshold of each label on these rows, where the predictions have probabilities."""
        if self.thresholds is not None or any(answer.probabilities is None for answer in answers):
            return {}
        count = len(self.labels)
        probabilities = np.nan_to_num([answer.probabilities or () for answer in answers]).reshape(-1, count)
        there = _matrix(rows, self.labels)
        return {"thresholds": [best_f1_threshold(there[:, i], probabilities[:, i]) for i in range(count)]}

    def _decided(self, answer: Answer) -> Answer:
        reached = np.asarray(answer.probabilities) >= (self.thresholds or [EVEN] * len(self.labels))
        return replace(answer, value=[self.labels[index] for index in np.flatnonzero(reached)])

    def baselines(self, train: Sequence[MultiLabelRow], rows: Sequence[MultiLabelRow]) -> dict[str, list[Answer]]:
        """The most frequent set of labels, and TF-IDF with a linear model for each label."""
        sets = [tuple(_in_order(row.gold or (), self.labels)) for row in train]
        constant = [Answer(value=list(labels)) for labels in baselines.majority(sets, len(rows))]
        read = read_by_tfidf(train)
        texts, unseen = [row.texts for row in read], [row.texts for row in rows]
        probabilities = baselines.tfidf_multilabel(texts, _matrix(read, self.labels), unseen)
        tfidf = [Answer(value=[], probabilities=row.tolist()) for row in probabilities]
        return {"majority": constant, "tfidf-logistic": self.decided_again(tfidf)}

    def explain_target(
        self, row: MultiLabelRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        return explained.several_labels(self.labels, answer, features, asked)


def _in_order(chosen: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [label for label in labels if label in chosen]


def _matrix(rows: Sequence[MultiLabelRow], labels: Sequence[str]) -> np.ndarray:
    """Whether each row has each label, `(rows, labels)`."""
    found = [[label in (row.gold or ()) for label in labels] for row in rows]
    return np.array(found, dtype=bool).reshape(-1, len(labels))


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
