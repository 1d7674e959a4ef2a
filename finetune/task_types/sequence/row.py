"""A source, and the text that is to be written from it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceRow:
    """A source and its target, None where that is unknown."""

    id: str
    source: str
    target: str | None = None

    @property
    def gold(self) -> str | None:
        return self.target

    @property
    def input(self) -> str:
        return self.source
