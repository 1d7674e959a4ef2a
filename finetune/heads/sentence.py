"""Sentences and pairs on the pooled output (Devlin et al. 2019, Figure 4 a and b): classification, regression."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from finetune import baselines
from finetune.errors import UserError
from finetune.families import SENTENCE
from finetune.features import Feature
from finetune.heads.pooled import PooledHead, encode_texts
from finetune.metrics import Metric
from finetune.model import Backbone
from finetune.source import Source
from finetune.task import Answer, Rows, Task


@dataclass(frozen=True, kw_only=True)
class SentenceRow:
    """A sentence or a pair with its gold, which is a label's name, a number, or None where it is not known."""

    id: str
    text: str
    pair: str | None = None
    gold: str | float | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One text or two."""
        return (self.text,) if self.pair is None else (self.text, self.pair)


class SentenceHead(PooledHead):
    """Dropout and one linear layer on the pooled output."""

    auto_class = "AutoModelForSequenceClassification"

    def __init__(self, backbone: Backbone, labels: Sequence[str], *, regression: bool = False) -> None:
        super().__init__(backbone, labels, table=SENTENCE)
        self.regression = regression

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy, or squared error of the one logit; summed over the batch."""
        if self.regression:
            return functional.mse_loss(logits.squeeze(-1), labels.to(logits.dtype), reduction="sum")
        return functional.cross_entropy(logits, labels, reduction="sum")

    def config_settings(self) -> dict[str, object]:
        """Label names, and the kind of problem, which transformers' classes and pipelines go by."""
        kind = "regression" if self.regression else "single_label_classification"
        return {**super().config_settings(), "problem_type": kind}


@dataclass(frozen=True, kw_only=True)
class SentenceTask(Task):
    """Classification into `labels`; without labels, regression.

    `read(source, split)` gives the rows; `scorers` are the metrics by name, each a function of gold and answers.
    """

    read: Callable[[Source, str], Rows]
    labels: tuple[str, ...] = ()
    scorers: Mapping[str, Metric]

    @property
    def regression(self) -> bool:
        """Whether the gold is a number."""
        return not self.labels

    def load(self, source: Source, split: str) -> Rows:
        """As `read` gives them. Raises UserError that names the row for a wrong label and for half a pair."""
        loaded = self.checked(self.read(source, split))
        for row in loaded.rows:
            if (row.pair is None) != (loaded.rows[0].pair is None):
                fault = f"is {'no ' * (row.pair is None)}pair, unlike the first row"
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Mend that row")
        return loaded

    def fault(self, row: SentenceRow) -> str:
        """As Task has it."""
        if row.gold is None or self.fits(row.gold, row):
            return ""
        return f"has the gold {row.gold!r}, which is none of: {', '.join(self.labels) or 'any number'}"

    def fits(self, value: Any, row: SentenceRow) -> bool:
        """A label, or a number."""
        if self.regression:
            return isinstance(value, int | float) and math.isfinite(value)
        return value in self.labels

    def row(self, text: str, pair: str | None = None) -> SentenceRow:
        """A sentence, or a pair."""
        return SentenceRow(id="", text=text, pair=pair)

    def encode(self, rows: Sequence[SentenceRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        """`[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]`, the longer of a pair cut first."""
        pairs = [row.pair for row in rows if row.pair is not None]
        encoded = encode_texts([row.text for row in rows], pairs or None, tokenizer, max_length)
        return [
            Feature(
                row=index,
                input_ids=one.ids,
                token_type_ids=one.segments,
                label=self._label(rows[index]),
                truncated=one.truncated,
            )
            for index, one in enumerate(encoded)
        ]

    def head(self, backbone: Backbone) -> SentenceHead:
        """Figure 4 (a) and (b)."""
        return SentenceHead(backbone, self.labels or ("score",), regression=self.regression)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SentenceRow]
    ) -> list[Answer]:
        """The most probable label; for regression the logit itself."""
        if self.regression:
            return [Answer(value=float(row[0])) for row in logits]
        return [self._answer(row) for row in softmax(np.stack(logits), axis=-1)]

    def gold(self, rows: Sequence[SentenceRow]) -> list[Answer]:
        """The rows' own."""
        return [Answer(value=row.gold) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[SentenceRow]) -> dict[str, float]:
        """Every scorer over all rows."""
        gold, values = [row.gold for row in rows], [answer.value for answer in answers]
        return {name: scorer(gold, values) for name, scorer in self.scorers.items()}

    def baselines(self, train: Sequence[SentenceRow], rows: Sequence[SentenceRow]) -> dict[str, list[Answer]]:
        """Majority or mean, and TF-IDF with a linear model."""
        texts, unseen = [row.texts for row in train], [row.texts for row in rows]
        gold = [row.gold for row in train]
        if self.regression:
            constant = baselines.mean(gold, len(rows))  # type: ignore[arg-type]
            ridge = baselines.tfidf_regress(texts, gold, unseen)  # type: ignore[arg-type]
            return {"mean": _answers(constant), "tfidf-ridge": _answers(ridge)}
        constant_label = baselines.majority(gold, len(rows))  # type: ignore[arg-type]
        labels, probabilities, classes = baselines.tfidf_classify(texts, gold, unseen)  # type: ignore[arg-type]
        columns = [classes.index(label) if label in classes else None for label in self.labels]
        tfidf = [
            Answer(value=label, probabilities=[0.0 if c is None else float(row[c]) for c in columns])
            for label, row in zip(labels, probabilities, strict=True)
        ]
        return {"majority": _answers(constant_label), "tfidf-logistic": tfidf}

    def _label(self, row: SentenceRow) -> int | float | None:
        if row.gold is None:
            return None
        return self.labels.index(row.gold) if isinstance(row.gold, str) else float(row.gold)

    def _answer(self, probabilities: np.ndarray) -> Answer:
        best = int(probabilities.argmax())
        return Answer(value=self.labels[best], probabilities=[float(p) for p in probabilities])


def _answers(values: Sequence[object]) -> list[Answer]:
    return [Answer(value=value) for value in values]
