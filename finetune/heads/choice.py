"""Which of several continuations follows, on the pooled output (Devlin et al. 2019, section 4.4): multiple choice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from finetune import baselines
from finetune.errors import UserError
from finetune.families import CHOICE
from finetune.features import Feature
from finetune.heads.pooled import PooledHead, softmax
from finetune.metrics import accuracy
from finetune.model import Backbone
from finetune.source import Source
from finetune.task import Answer, Rows, Task


@dataclass(frozen=True, kw_only=True)
class ChoiceRow:
    """A context, its possible continuations, and the number of the right one, counted from 0."""

    id: str
    context: str
    choices: tuple[str, ...]
    gold: int | None = None


class ChoiceHead(PooledHead):
    """One score for each pair of context and choice, from a vector that the pooled output is multiplied with."""

    auto_class = "AutoModelForMultipleChoice"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone, (), table=CHOICE)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy over each row's choices `(batch, most choices)`, summed over the batch."""
        return functional.cross_entropy(logits, labels, reduction="sum")

    def config_settings(self) -> dict[str, object]:
        """None: choices have no names."""
        return {}


@dataclass(frozen=True, kw_only=True)
class ChoiceTask(Task):
    """Picks one of each row's choices; rows may have different numbers of them."""

    read: Callable[[Source, str], Rows]
    metrics: tuple[str, ...] = ("accuracy",)

    def load(self, source: Source, split: str) -> Rows:
        """As `read` gives them. Raises UserError that names the row for choices that are missing."""
        loaded = self.read(source, split)
        for row in loaded.rows:
            where = f"{loaded.origin}: row '{row.id}'"
            if len(row.choices) < 2 or not all(choice.strip() for choice in row.choices):
                raise UserError(f"{where} has fewer than two choices, or an empty one", "Mend that row")
            if not row.context.strip():
                raise UserError(f"{where} has an empty context", "Mend that row")
            if row.gold is not None and not 0 <= row.gold < len(row.choices):
                raise UserError(
                    f"{where} has the gold {row.gold}, but {len(row.choices)} choices", "They are counted from 0"
                )
        return loaded

    def row(self, context: str, choices: Sequence[str]) -> ChoiceRow:
        """A context and its choices."""
        return ChoiceRow(id="", context=context, choices=tuple(choices))

    def encode(self, rows: Sequence[ChoiceRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        """`[CLS] context [SEP] choice [SEP]` for each choice, the longer of the two cut first."""
        pairs = [(row.context, choice) for row in rows for choice in row.choices]
        encoded = tokenizer([a for a, _ in pairs], [b for _, b in pairs], truncation=True, max_length=max_length)
        segments = encoded.get("token_type_ids", [None] * len(pairs))
        features, begin = [], 0
        for index, row in enumerate(rows):
            mine = range(begin, begin + len(row.choices))
            begin = mine.stop
            features.append(
                Feature(
                    row=index,
                    choices=[
                        Feature(row=index, input_ids=encoded["input_ids"][i], token_type_ids=segments[i]) for i in mine
                    ],
                    label=row.gold,
                    truncated=any(encoded.encodings[i].overflowing for i in mine),
                )
            )
        return features

    def head(self, backbone: Backbone) -> ChoiceHead:
        """A score a choice."""
        return ChoiceHead(backbone)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[ChoiceRow]
    ) -> list[Answer]:
        """The most probable choice, and the probability of each."""
        return [_answer(softmax(given)) for given in logits]

    def gold(self, rows: Sequence[ChoiceRow]) -> list[Answer]:
        """The rows' own."""
        return [Answer(value=row.gold) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[ChoiceRow]) -> dict[str, float]:
        """Share of rows whose choice is the right one."""
        return {"accuracy": accuracy([row.gold for row in rows], [answer.value for answer in answers])}

    def baselines(self, train: Sequence[ChoiceRow], rows: Sequence[ChoiceRow]) -> dict[str, list[Answer]]:
        """The choice that is most like the context by TF-IDF."""
        texts = [text for row in train for text in (row.context, *row.choices)]
        given = baselines.most_similar(texts, [(row.context, row.choices) for row in rows])
        return {"tfidf-similarity": [Answer(value=index) for index in given]}


def _answer(probabilities: np.ndarray) -> Answer:
    return Answer(value=int(probabilities.argmax()), probabilities=probabilities.tolist())
