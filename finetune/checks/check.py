"""A check: a function that looks for issues in the files of the splits, and which ones it can find."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from finetune.checks.finding import Finding
from finetune.checks.split_data import Part
from finetune.data.issues import Issue

Find = Callable[[Sequence[Part]], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """What to call with all files, and what it may find; `refuses`: `run` does not start where it finds an error."""

    find: Find
    issues: tuple[Issue, ...]
    refuses: bool = False


def in_each(find: Callable[[Part], Iterable[Finding]]) -> Find:
    """A check of one file, applied to each file that has the columns with the texts."""

    def find_in_each(parts: Sequence[Part]) -> Iterator[Finding]:
        for part in _with_texts(parts):
            yield from find(part)

    return find_in_each


def across(find: Find) -> Find:
    """A check of several files, applied to those that have the columns with the texts."""
    return lambda parts: find(_with_texts(parts))


def _with_texts(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.has(part.layout.text)]
