"""What a column holds, seen from its values: numbers, texts, few values that come often, lists."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from finetune.data.formats import NUMBER

Kind = Literal["empty", "list", "number", "category", "text"]
SEEN = 20_000  # values of a column that its kind is seen from
FEW = 50  # values that a category has at most, or a twentieth of its rows


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A column's kind and the figures that it was seen from, which are of the cells that hold something."""

    name: str
    kind: Kind
    filled: int
    share: float
    distinct: int
    words: float
    whole: bool = False
    marks: bool = False  # nothing but 0 and 1, or true and false, and both

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same value."""
        return self.filled > 1 and self.distinct == self.filled


def is_missing(value: Any) -> bool:
    """None, not a number, or nothing but spaces; an empty list says something: that there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and not value.strip()


def as_text(value: Any) -> str:
    """A cell as text: numbers that are whole without a point, truth values in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else "" if value is None else str(value)


def as_number(value: Any) -> float | None:
    """A cell as a finite number, with a point or a comma; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        if not NUMBER.fullmatch(text):
            return None
        value = text.replace(",", ".")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def facts_of(name: str, values: Sequence[Any]) -> ColumnFacts:
    """What a column holds."""
    some = [value for value in islice(values, SEEN) if not is_missing(value)]
    if not some:
        return ColumnFacts(name=name, kind="empty", filled=0, share=0, distinct=0, words=0)
    share = len(some) / min(len(values), SEEN)
    if sum(isinstance(value, list | dict) for value in some) > 0.5 * len(some):
        return ColumnFacts(name=name, kind="list", filled=len(some), share=share, distinct=len(some), words=0)
    texts = [as_text(value).strip() for value in some]
    distinct = len(set(texts))
    marks = distinct == 2 and {text.lower() for text in texts} in ({"0", "1"}, {"true", "false"})
    words = sum(len(text.split()) for text in texts) / len(texts)
    numbers = [number for value in some if (number := as_number(value)) is not None]
    if len(numbers) >= 0.95 * len(some):
        whole = all(number.is_integer() for number in numbers)
        return ColumnFacts(
            name=name,
            kind="number",
            filled=len(some),
            share=share,
            distinct=distinct,
            words=1,
            whole=whole,
            marks=marks,
        )
    few = distinct <= max(2, min(FEW, 0.5 * len(some))) or distinct <= 0.05 * len(some)
    kind: Kind = "category" if few and words < 6 else "text"
    return ColumnFacts(name=name, kind=kind, filled=len(some), share=share, distinct=distinct, words=words, marks=marks)
