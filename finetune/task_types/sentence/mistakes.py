"""Labels of a single row that look like mistakes: a typo, a number or a sentence among words, the column's name."""

import shlex
from collections.abc import Mapping
from unicodedata import normalize

from finetune.data.messages import shown
from finetune.data.spellings import misspelled
from finetune.runs.toml import typed_value
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import unusable

MOST = 0.05  # share of the rows: where there are more, they are what the data has
LONGER = 3  # times longer than every other label
SENTENCE = 30  # characters
FREQUENT = 100  # rows
SHOWN = 3
LABEL_MISTAKE = unusable(
    "label-mistake",
    "a label that no other row has looks like a mistake",
    "Correct it, or set keep=LABEL (or keep=all) to train on it",
)


def mistaken(counts: Mapping[str, int], column: str) -> dict[str, str]:
    """The labels of a single row that look like mistakes, with the reason.

    A label that is only rare is none, and neither is one in capitals, which `fix` corrects.
    """
    single = [name for name, count in counts.items() if count == 1]
    usual = {name: count for name, count in counts.items() if count > 1}
    if not single or len(usual) < 2:
        return {}
    meant = misspelled(counts)
    found = {name: why for name in single if (why := _reason(name, meant, usual, column))}
    return found if len(found) <= MOST * sum(counts.values()) else {}


def _reason(name: str, meant: Mapping[str, str], usual: Mapping[str, int], column: str) -> str:
    if name in meant and _is_typo(name, meant[name], usual):
        return f"perhaps {shown(meant[name])}"
    if name.casefold() == column.casefold():
        return "the column's name"
    if not _has_letters(name) and all(map(_has_letters, usual)):
        return "without letters, which all others have"
    if len(name) >= SENTENCE and len(name) > LONGER * max(map(len, usual)):
        return "much longer than the others"
    return ""


def _is_typo(name: str, meant: str, usual: Mapping[str, int]) -> bool:
    """Whether one edit is a slip: not in the first letter (`atypical`), nor where usual labels are an edit apart too
    (`grade A` and `grade B`).
    """
    first, other = (normalize("NFD", text.casefold())[:1] for text in (name, meant))
    near = any(misspelled({near: 1, meant: FREQUENT}) for near in usual if near != meant)
    return first == other and not near


def _has_letters(name: str) -> bool:
    return any(map(str.isalpha, name))


def mistake_words(layout: Layout, label: str) -> str:
    """Why a row with such a label is left out, in words that follow `row 5`, and how to keep it."""
    others = [shown(name) for name in layout.mistakes if name != label]
    listed = ", ".join(others[:SHOWN]) + (f" and {len(others) - SHOWN} more" if len(others) > SHOWN else "")
    such = f"; other such labels: {listed}" if others else ""
    keep = "all" if others or "," in label else label
    return (
        f"has the label {shown(label)} ({layout.mistakes[label]}), which no other row has{such}; "
        f"{shlex.quote(f'keep={typed_value(keep)}')} keeps {'them' if others else 'it'}"
    )
