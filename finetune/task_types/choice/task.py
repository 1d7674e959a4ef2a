"""Which of several continuations follows, on the pooled output (Devlin et al. 2019, section 4.4): multiple choice."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.scores import accuracy
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.choice_labels import choice_name
from finetune.task_types.classification.texts import encode_texts
from finetune.task_types.explained import Asked, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.choice.head import ChoiceHead


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRow:
    """A context, its possible continuations, and the index of the right one, counted from 0."""

    id: str
    context: str
    choices: tuple[str, ...]
    gold: int | None = None

    @property
    def input(self) -> str:
        """The context and the choices."""
        return "\n".join((self.context, *self.choices))


@dataclass(frozen=True, kw_only=True)
class ChoiceTask(Task):
    """Picks one of each row's choices; rows may have different numbers of them.

    In output files choices are named as the labels named them: by `names`, else by numbers, of which the first is
    `counted_from`. In labels and predictions they count from 0.
    """

    counted_from: int = 0
    names: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = (accuracy,)
    row_type = ChoiceRow

    def fault(self, row: ChoiceRow) -> str:
        if len(row.choices) < 2 or not all(choice.strip() for choice in row.choices):
            return "has fewer than two choices, or an empty one"
        if not row.context.strip():
            return "has an empty context"
        if row.gold is not None and not self.fits(row.gold, row):
            return f"has the label {row.gold}, but {so_many(len(row.choices), 'choice')}, counted from 0"
        return ""

    def fits(self, value: Any, row: ChoiceRow) -> bool:
        return type(value) is int and 0 <= value < len(row.choices)

    def row(self, context: str, choices: Sequence[str]) -> ChoiceRow:
        """A context and its choices."""
        if isinstance(choices, str):
            raise UserError(f"the choices are a single text, {choices!r}", "Give a list of texts")
        return ChoiceRow(id="", context=context, choices=tuple(choices))

    def head(self, backbone: "Backbone") -> "ChoiceHead":
        from finetune.task_types.choice.head import ChoiceHead

        return ChoiceHead(backbone)

    def named(self, place: int) -> int | str:
        """The name of a choice in files."""
        return choice_name(place, self.names, self.counted_from)

    def _names(self, row: ChoiceRow) -> list[str]:
        return [str(self.named(place)) for place in range(len(row.choices))]

    def place(self, name: int | str) -> int:
        """The index of the choice with this name."""
        return self.names.index(name) if name in self.names else int(name) - self.counted_from

    def encode(self, rows: Sequence[ChoiceRow], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """`[CLS] context [SEP] choice [SEP]` for each choice, the longer of the two truncated first."""
        pairs = [(row.context, choice) for row in rows for choice in row.choices]
        encoded = encode_texts([a for a, _ in pairs], [b for _, b in pairs], tokenizer, max_length)
        features = []
        for index, row in enumerate(rows):
            mine = list(islice(encoded, len(row.choices)))
            features.append(
                Feature(
                    row=index,
                    choices=[Feature(row=index, input_ids=one.ids, token_type_ids=one.segments) for one in mine],
                    label=row.gold,
                    truncated=any(one.truncated for one in mine),
                )
            )
        return features

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[ChoiceRow]
    ) -> list[Answer]:
        """The most probable choice, and the probability of each."""
        from scipy.special import softmax

        chances = map(softmax, logits)
        return [Answer(value=int(of_row.argmax()), probabilities=of_row.tolist()) for of_row in chances]

    def cells(self, answer: Answer, row: ChoiceRow) -> dict[str, Any]:
        """The predicted choice's name and text, and the probability of each choice."""
        chances = {f"p(choice {self.named(place)})": p for place, p in enumerate(answer.probabilities or ())}
        return {"prediction": self.named(answer.value), "prediction text": row.choices[answer.value], **chances}

    def baselines(self, train: Sequence[ChoiceRow], rows: Sequence[ChoiceRow]) -> dict[str, list[Answer]]:
        """The choice that is most similar to the context by TF-IDF."""
        texts = [text for row in train for text in (row.context, *row.choices)]
        baseline = baselines.most_similar(texts, [(row.context, row.choices) for row in rows])
        return {"tfidf-similarity": [Answer(value=index) for index in baseline]}

    def explain_target(
        self, row: ChoiceRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        """The predicted choice, or the one whose name was asked for."""
        asked.require_no_word()
        names, chances = self._names(row), answer.probabilities or ()
        label = asked.one_of(names)
        place: Any = answer.value if label is None else names.index(label)
        picks = [Pick(feature=0, place=(place,), against=0)]
        context = NamedText(name="context", text=row.context)
        return ExplainTarget(
            texts=[
                [context, NamedText(name=f"choice {name}", text=text)]
                for name, text in zip(names, row.choices, strict=True)
            ],
            prediction=f"choice {names[answer.value]}: {row.choices[answer.value]}",
            confidence=max(chances),
            targets=[Target(label=f"choice {names[place]}", picks=picks, confidence=chances[place])],
        )
