"""A question about a context, with its answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """A question about a context.

    `answers` are the label texts: empty without an answer in the context, None for an unknown label. `start` is the
    character at which the first begins.
    """

    id: str
    question: str
    context: str
    answers: tuple[str, ...] | None = None
    start: int | None = None
    title: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        return self.answers

    @property
    def input(self) -> str:
        return f"{self.question}\n{self.context}"
