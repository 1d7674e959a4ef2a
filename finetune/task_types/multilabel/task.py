"""Any number of labels for a sentence or pair, on the pooled output: a logit a label, each a question of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.scores import exact_match_of_sets, label_set_scores, macro_f1_of_sets, micro_f1_of_sets
from finetune.metrics.sums import Counted, macro_f1_counted, mean_counted, micro_f1_counted, part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.pooled import TextRow, logits_by_row, pairs_or_none, text_features, tfidf_remarks
from finetune.task_types.task import Answer, Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.multilabel.head import MultiLabelHead

Probability = Annotated[float, Field(ge=0, le=1)]
EVEN = 0.5  # the threshold of a label until one is chosen


@dataclass(frozen=True, kw_only=True)
class MultiLabelRow(TextRow):
    """A sentence or a pair with the names of its labels, which may be none; None where they are not known."""

    gold: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class MultiLabelTask(Task):
    """Gives a row any number of `labels`; an answer is a list of them, in the task's order.

    A row has a label whose probability reaches the label's threshold: `thresholds` are in the order of the labels,
    and chosen on dev for each label's F1 unless they are given. Dev itself is scored with thresholds that other rows of
    it chose, for rare labels reach too high an F1 with their own. `windows` is as SentenceTask has it.
    """

    version: int = 2  # 1: dev was scored with the thresholds that it chose
    read: Callable[[Source, str], Rows]
    labels: tuple[str, ...]
    windows: bool = False
    thresholds: Sequence[Probability] | None = None
    metrics: tuple[Metric, ...] = ()
    row_type = MultiLabelRow
    own_options = ("windows", "thresholds")
    cross_fits = True

    def __post_init__(self) -> None:
        """The metrics follow from the labels."""
        if self.thresholds is not None and len(self.thresholds) != len(self.labels):
            raise UserError(
                f"'thresholds' has {len(self.thresholds)} numbers, and {self.name} has {len(self.labels)} labels",
                f"Give one for each of {', '.join(self.labels)}",
            )
        by_label = (Metric(f"{label}/{part}") for label in self.labels for part in ("f1", "precision", "recall"))
        over_all = (micro_f1_of_sets, macro_f1_of_sets, exact_match_of_sets)
        object.__setattr__(self, "metrics", (*over_all, *by_label))
        super().__post_init__()

    def load(self, source: Source, split: str) -> Rows:
        """As `read` gives them. Raises UserError that names the row for a wrong label and for half a pair."""
        return pairs_or_none(self.checked(self.read(source, split)))

    def fault(self, row: MultiLabelRow) -> str:
        """As Task has it."""
        if row.gold is None or self.fits(list(row.gold), row):
            return ""
        return f"has the labels {', '.join(row.gold)}; allowed are, each once: {', '.join(self.labels)}"

    def fits(self, value: Any, row: MultiLabelRow) -> bool:
        """A list of labels, each at most once."""
        known = isinstance(value, list) and all(label in self.labels for label in value)
        return known and len(set(value)) == len(value)

    def row(self, text: str, pair: str | None = None) -> MultiLabelRow:
        """A sentence, or a pair."""
        return MultiLabelRow(id="", text=text, pair=pair)

    def encode(
        self, rows: Sequence[MultiLabelRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """As SentenceTask's; the label is a list with 1 for each label that a row has and 0 for each other."""
        labels = [None if row.gold is None else [int(label in row.gold) for label in self.labels] for row in rows]
        return text_features(rows, labels, tokenizer, max_length, windows=self.windows)

    def head(self, backbone: "Backbone") -> "MultiLabelHead":
        """A logit a label."""
        from finetune.task_types.multilabel.head import MultiLabelHead

        return MultiLabelHead(backbone, self.labels)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[MultiLabelRow]
    ) -> list[Answer]:
        """The labels that reach their thresholds, and the probability of each label of the task."""
        from scipy.special import expit

        probabilities = expit(logits_by_row(logits, features, len(rows)).astype(np.float64))
        return self.decided([Answer(value=[], probabilities=row.tolist()) for row in probabilities])

    def decided(self, answers: Sequence[Answer]) -> list[Answer]:
        """The labels that reach their thresholds; answers without probabilities stay."""
        return [answer if answer.probabilities is None else self._decided(answer) for answer in answers]

    def cells(self, answer: Answer, row: MultiLabelRow) -> dict[str, Any]:
        """The labels, and the probability of each there is."""
        chances = zip(self.labels, answer.probabilities or (), strict=False)
        return {"answer": answer.value, **{f"p({label})": float(p) for label, p in chances}}

    def gold(self, rows: Sequence[MultiLabelRow]) -> list[Answer]:
        """The rows' own, in the task's order."""
        return [Answer(value=None if row.gold is None else self._in_order(row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, float]:
        """F1 over all labels together, its mean over the labels that occur, exact match; and by label."""
        gold, given = [row.gold or () for row in rows], [answer.value for answer in answers]
        scores = {metric.name: metric.score(gold, given) for metric in self.metrics if metric.score is not None}
        for label, (precision, recall, f1) in label_set_scores(gold, given, self.labels).items():
            scores |= {f"{label}/f1": f1, f"{label}/precision": precision, f"{label}/recall": recall}
        return scores

    def counted(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Counted]:
        """All of them."""
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
            for part in ("f1", "precision", "recall"):
                metrics[f"{label}/{part}"] = part_counted(part, *(each[:, index] for each in counts))
        return metrics

    def calibrate(self, answers: Sequence[Answer], rows: Sequence[MultiLabelRow]) -> dict[str, Any]:
        """For each label the threshold that is best on these rows, where the answers have probabilities."""
        if self.thresholds is not None or any(answer.probabilities is None for answer in answers):
            return {}
        probabilities = np.nan_to_num([answer.probabilities or () for answer in answers]).reshape(-1, len(self.labels))
        gold = self._matrix(rows)
        return {"thresholds": [best_threshold(gold[:, i], probabilities[:, i]) for i in range(len(self.labels))]}

    def baselines(self, train: Sequence[MultiLabelRow], rows: Sequence[MultiLabelRow]) -> dict[str, list[Answer]]:
        """The most frequent set of labels, and TF-IDF with a linear model for each label."""
        sets = [tuple(self._in_order(row.gold or ())) for row in train]
        constant = [Answer(value=list(labels)) for labels in baselines.majority(sets, len(rows))]
        texts, unseen = [row.texts for row in train], [row.texts for row in rows]
        probabilities = baselines.tfidf_multilabel(texts, self._matrix(train), unseen)
        tfidf = [Answer(value=[], probabilities=row.tolist()) for row in probabilities]
        return {"majority": constant, "tfidf-logistic": self.decided(tfidf)}

    def baseline_remarks(self, train: Sequence[MultiLabelRow]) -> list[str]:
        """How many rows TF-IDF read, where these are not all."""
        return tfidf_remarks(train)

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        """The names of the labels."""
        marks: Any = feature.label or ()
        return ", ".join(self.labels[index] for index in np.flatnonzero(marks)) or "none"

    def _decided(self, answer: Answer) -> Answer:
        reached = np.asarray(answer.probabilities) >= (self.thresholds or [EVEN] * len(self.labels))
        return replace(answer, value=[self.labels[index] for index in np.flatnonzero(reached)])

    def _in_order(self, labels: Sequence[str]) -> list[str]:
        return [label for label in self.labels if label in labels]

    def _matrix(self, rows: Sequence[MultiLabelRow]) -> np.ndarray:
        """Which labels each row has, `(rows, labels)`."""
        found = [[label in (row.gold or ()) for label in self.labels] for row in rows]
        return np.array(found, dtype=bool).reshape(-1, len(self.labels))


def best_threshold(gold: np.ndarray, probabilities: np.ndarray) -> float:
    """The threshold with the best F1 for one label; of several that are as good the one nearest to a half.

    `gold` and `probabilities` `(rows,)`. It is a half, or lies midway between two probabilities that were found.
    """
    order = np.argsort(probabilities)
    found = np.unique(np.concatenate([[0.0], probabilities, [1.0]]))
    thresholds = np.append((found[1:] + found[:-1]) / 2, EVEN)
    below = np.searchsorted(probabilities[order], thresholds)  # how many rows do not reach each
    right = gold.sum() - np.concatenate([[0], np.cumsum(gold[order])])[below]
    f1 = 2 * right / np.maximum(1, len(gold) - below + gold.sum())
    best = thresholds[f1 >= f1.max() - 1e-12]
    return float(best[np.abs(best - EVEN).argmin()])
