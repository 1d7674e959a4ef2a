"""Words with their tags, the slots, and one intent for all of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from finetune.data.rows import ADDED_LATER
from finetune.task_types.tagging.task import TaggingRow

INTENT, SLOTS = "intent", "slots"  # the parts of a label and of a prediction, and the names of their losses
PREFIX = f"{INTENT}: "  # before an intent's name among labels, which are the types of slots too
IntentAndTags = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRow:
    """The words of a text, its intent and their tags in IOB2 (`gold`); None if unknown.

    A label may be given as a mapping too, `{"intent": "play", "slots": ["O", "B-artist"]}`, as predictions are saved.
    The other fields are those of a `TaggingRow`.
    """

    id: str
    words: tuple[str, ...]
    gold: IntentAndTags | None = None
    text: str = field(default="", metadata=ADDED_LATER)
    starts: tuple[int, ...] = field(default=(), metadata=ADDED_LATER)
    raw: str = field(default="", metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        given: Any = self.gold
        if isinstance(given, Mapping):
            object.__setattr__(self, "gold", (given[INTENT], tuple(given[SLOTS])))

    @property
    def tagged(self) -> TaggingRow:
        """The row without its intent."""
        tags = None if self.gold is None else self.gold[1]
        return TaggingRow(id=self.id, words=self.words, gold=tags, text=self.text, starts=self.starts, raw=self.raw)

    @property
    def input(self) -> str:
        """The text, or the words with spaces between them."""
        return self.tagged.input

    def with_words(self, row: TaggingRow) -> "IntentRow":
        """The row with the words of another, and their places."""
        return replace(self, words=row.words, text=row.text, starts=row.starts, raw=row.raw)


def as_value(intent: str, tags: Iterable[str]) -> dict[str, Any]:
    """A label in the form of predictions."""
    return {INTENT: intent, SLOTS: list(tags)}


def intent_label(name: str) -> str:
    """The name of an intent among labels."""
    return f"{PREFIX}{name}"
