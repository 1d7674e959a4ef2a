"""What `finetune explain` asks of a task type: a row's texts, and which logits a prediction was made from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from finetune.errors import UserError, nearest


@dataclass(frozen=True, kw_only=True)
class NamedText:
    """One of a row's texts. `words` are the (start, end) of its words where the row has them; else the tokenizer's."""

    name: str
    text: str
    words: Sequence[tuple[int, int]] | None = None


@dataclass(frozen=True, kw_only=True)
class Pick:
    """The logit at `place` of feature number `feature`, times `weight`.

    Where `against` is an axis, it is the log-odds: the logit minus the logarithm of the sum of the exponentials of the
    others along that axis, so that for a softmax its sigmoid is the probability.
    """

    feature: int
    place: tuple[int, ...]
    against: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is explained: a label with its probability, and the logits whose sum is its value."""

    label: str
    picks: Sequence[Pick]
    confidence: float | None = None

    @property
    def is_log_odds(self) -> bool:
        """Whether the value is the log-odds of the label: of one decision, or its mean over windows."""
        return self.confidence is not None and math.isclose(sum(pick.weight for pick in self.picks), 1)


class CannotExplain(UserError):
    """A row whose prediction cannot be explained, as others of its model can."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user wants explained: a label instead of the prediction, and which word's tag."""

    label: str | None = None
    word: str | None = None

    def one_of(self, labels: Sequence[str]) -> str | None:
        """The label that was asked for, if any. Raises UserError where it is not one of these."""
        if self.label is None or self.label in labels:
            return self.label
        raise UserError(
            f"there is no label '{self.label}'", f"{nearest(self.label, list(labels))}It is one of {', '.join(labels)}"
        )

    def require_no_label(self, why: str) -> None:
        """Raises UserError where a label was asked for."""
        if self.label is not None:
            raise UserError(f"`label` '{self.label}': {why}", "Leave it out")

    def require_no_word(self) -> None:
        """Raises UserError where a word was asked for."""
        if self.word is not None:
            raise UserError(f"`word` '{self.word}': this model does not tag words", "Leave it out, or set `label`")


@dataclass(frozen=True, kw_only=True)
class ExplainTarget:
    """A row's prediction in words, its probability, and the logit to explain, from a task type's `explain_target(row,
    answer, features, asked)`.

    `texts` are the parts of the row's sequences, in order: one list for all of them, or one for each choice.
    """

    texts: Sequence[Sequence[NamedText]]
    prediction: str
    confidence: float | None
    targets: Sequence[Target]
