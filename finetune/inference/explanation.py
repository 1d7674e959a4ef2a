"""Explanations as plain data: the part of each word in a prediction. No torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from finetune.errors import UserError

TOLERANCE = 0.05  # as a share of the difference to which the parts must add up
LEAST_DIFFERENCE = 1e-3  # smaller differences count as this
FULL_LOG_ODDS = 0.1  # log-odds of a full bar or colour, unless a word adds more: below that nothing is strong


def require_captum() -> None:
    """Raises UserError where captum is not installed."""
    try:
        import captum  # noqa: F401
    except ImportError as error:
        raise UserError(
            "an explanation needs a package that is not installed (captum)",
            "Install it: pip install 'bert-finetune[explain]'",
        ) from error


def signed(value: float) -> str:
    """A part with its sign, such as `+0.120`; `0.000` without a sign if it rounds to that."""
    text = f"{value:+.3f}"
    return text if text.strip("+-0.") else text[1:]


@dataclass(frozen=True, kw_only=True)
class WordPart:
    """A word of a text, at characters `start` to `end`, and its part: log-odds, or a score."""

    word: str
    text_name: str
    start: int
    end: int
    added: float


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The words' parts of a label's value: its log-odds, or a score.

    `value` is for the row, `masked` for the row with every word masked, and so is `masked_confidence`, a probability;
    None where the value is not the log-odds of one label. `steps` are of integrated gradients.
    """

    label: str
    confidence: float | None
    value: float
    masked: float
    steps: int
    words: Sequence[WordPart]
    masked_confidence: float | None = None

    @property
    def difference(self) -> float:
        """The sum that the parts should have."""
        return self.value - self.masked

    @property
    def added(self) -> float:
        """The sum of the parts."""
        return sum(word.added for word in self.words)

    @property
    def full(self) -> float:
        """The part that is drawn at full strength: the largest, if it is not small."""
        return max(FULL_LOG_ODDS, *(abs(word.added) for word in self.words))

    @property
    def without_words(self) -> str:
        """A sentence where the masked text alone has the label that the text has; else empty."""
        masked = self.masked_confidence
        if self.confidence is None or masked is None or min(self.confidence, masked) < 0.5:
            return ""
        return (
            f"With all words masked the model already gives {self.label} ({100 * masked:.1f} %): the words change how "
            "sure it is, not the answer."
        )

    @property
    def gap(self) -> float:
        """The error of the sum of the parts, as a share of the difference."""
        return abs(self.added - self.difference) / max(abs(self.difference), LEAST_DIFFERENCE)

    @property
    def adds_up(self) -> bool:
        """Whether the gap is at most 5 %."""
        return self.gap <= TOLERANCE


@dataclass(frozen=True, kw_only=True)
class ExplainedRow:
    """A row with its prediction, its texts by name, explanations, and a note if it was truncated.

    `gold` is the row's own label, for tasks of one label a row; empty without one.
    """

    id: str
    prediction: str
    confidence: float | None
    texts: Mapping[str, str]
    explanations: Sequence[Explanation]
    note: str = ""
    gold: str = ""

    def facts(self) -> dict[str, Any]:
        """JSON values."""
        computed = ("added", "difference", "gap", "adds_up")
        explanations = [
            asdict(explanation) | {name: getattr(explanation, name) for name in computed}
            for explanation in self.explanations
        ]
        return asdict(self) | {"texts": dict(self.texts), "explanations": explanations}


@dataclass(frozen=True, kw_only=True)
class TextPiece:
    """A piece of a text: a word with its part, or characters between words. `share`, -1 to 1, is by the full part."""

    text: str
    word: WordPart | None = None
    share: float = 0.0


def text_pieces(row: ExplainedRow, explanation: Explanation, name: str) -> Iterator[TextPiece]:
    """The text of this name, cut at its words."""
    text, end = row.texts[name], 0
    for word in (word for word in explanation.words if word.text_name == name):
        yield TextPiece(text=text[end : word.start])
        yield TextPiece(text=text[word.start : word.end], word=word, share=word.added / explanation.full)
        end = word.end
    yield TextPiece(text=text[end:])
