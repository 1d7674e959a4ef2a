"""A check: a function over all splits, and the issues that it can report."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.data.issues import Issue

Find = Callable[[Sequence[SplitFile]], Iterable[FileFinding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """`find` is called with all splits and reports some of `issues`; with `refuses`, `run` stops on its errors."""

    find: Find
    issues: tuple[Issue, ...]
    refuses: bool = False


def in_each(find: Callable[[SplitFile], Iterable[FileFinding]]) -> Find:
    """A check of one split, applied to each split that has the text columns."""

    def find_in_each(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
        for part in _with_texts(parts):
            yield from find(part)

    return find_in_each


def across(find: Find) -> Find:
    """A check across splits, applied to those that have the text columns."""
    return lambda parts: find(_with_texts(parts))


def _with_texts(parts: Sequence[SplitFile]) -> list[SplitFile]:
    return [part for part in parts if part.has(part.layout.text)]
