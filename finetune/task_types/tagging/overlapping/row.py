"""A text with spans of characters that may overlap."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LabelledSpan = tuple[int, int, str]  # first character, character after the last, label


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapRow:
    """A text and its spans, in the order of their first characters, of these the longest first; None if unknown.

    Spans may be given as mappings too, as predictions are saved.
    """

    id: str
    text: str
    gold: tuple[LabelledSpan, ...] | None = None

    def __post_init__(self) -> None:
        if self.gold is not None and any(isinstance(span, Mapping) for span in self.gold):
            object.__setattr__(self, "gold", tuple(triples(self.gold)))  # type: ignore[arg-type]

    @property
    def input(self) -> str:
        """The text."""
        return self.text


def in_order(span: LabelledSpan) -> tuple[int, int, str]:
    """The key that sorts spans: by the first character, of these the longest first."""
    return span[0], -span[1], span[2]


def as_values(spans: Iterable[LabelledSpan]) -> list[dict[str, Any]]:
    """Spans in the form of predictions, `{"start": 0, "end": 3, "label": "PER"}`."""
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]


def triples(values: Iterable[Mapping[str, Any]]) -> list[LabelledSpan]:
    """The reverse of `as_values`."""
    return [(one["start"], one["end"], one["label"]) for one in values]
