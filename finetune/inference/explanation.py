"""What each word adds to a prediction, as plain data; needs no torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from finetune.errors import UserError

TOLERANCE = 0.05  # of the difference that the parts must add up to
LEAST_DIFFERENCE = 1e-3  # a difference that is smaller counts as so much
FULL_LOG_ODDS = (
    0.1  # log-odds of which a bar or a colour is at its full, unless a word adds more: below that nothing is strong
)


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
    """What is added, with its sign: `+0.120`; `0.000` of what is too small to be shown."""
    shown = f"{value:+.3f}"
    return shown if shown.strip("+-0.") else shown[1:]


@dataclass(frozen=True, kw_only=True)
class WordPart:
    """A word of a text with what it adds."""

    word: str
    text_name: str
    start: int
    end: int
    added: float


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The parts of a label's value: its log-odds, or a score, for the row and for the row with every word masked.

    `steps` of integrated gradients were computed. `masked_confidence` is the probability of the label with every word
    masked, None where the value is not the log-odds of one label.
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
        """What the parts should add up to."""
        return self.value - self.masked

    @property
    def added(self) -> float:
        """What they add up to."""
        return sum(word.added for word in self.words)

    @property
    def full(self) -> float:
        """What is drawn at full strength: the largest part, if it is not small."""
        return max(FULL_LOG_ODDS, *(abs(word.added) for word in self.words))

    @property
    def without_words(self) -> str:
        """A sentence where the masked text alone has the label that the text has; else empty."""
        if (
            self.confidence is None
            or self.masked_confidence is None
            or min(self.confidence, self.masked_confidence) < 0.5
        ):
            return ""
        return (
            f"With all words masked the model already gives {self.label} ({100 * self.masked_confidence:.1f} %): the "
            f"words change how sure it is, not the answer."
        )

    @property
    def gap(self) -> float:
        """How far apart the two are, as a share of the difference."""
        return abs(self.added - self.difference) / max(abs(self.difference), LEAST_DIFFERENCE)

    @property
    def adds_up(self) -> bool:
        """Whether that is within 5 %."""
        return self.gap <= TOLERANCE


@dataclass(frozen=True, kw_only=True)
class ExplainedRow:
    """A row with its prediction, its texts by name, the explanations of it, and a note on what was not read.

    `gold` is the row's own label, for tasks of one label a row; empty if it has none.
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
        shown = [
            asdict(one) | {"added": one.added, "difference": one.difference, "gap": one.gap, "adds_up": one.adds_up}
            for one in self.explanations
        ]
        return asdict(self) | {"texts": dict(self.texts), "explanations": shown}


@dataclass(frozen=True, kw_only=True)
class TextPiece:
    """A piece of a text: a word with its part, or what is between words. `share` is of the strongest part, -1 to 1,
    unless that is small.
    """

    text: str
    word: WordPart | None = None
    share: float = 0.0


def text_pieces(row: ExplainedRow, one: Explanation, name: str) -> Iterator[TextPiece]:
    """The text of that name, cut at its words."""
    text, place = row.texts[name], 0
    for word in (word for word in one.words if word.text_name == name):
        yield TextPiece(text=text[place : word.start])
        yield TextPiece(text=text[word.start : word.end], word=word, share=word.added / one.full)
        place = word.end
    yield TextPiece(text=text[place:])
