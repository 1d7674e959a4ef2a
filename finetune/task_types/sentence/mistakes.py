"""Labels of a single row that look like mistakes: a slip of the keyboard, a number, a date or a sentence among words,
the column's name.
"""

import re
import shlex
from collections.abc import Mapping

from finetune.data.messages import shown
from finetune.data.spellings import misspelled
from finetune.data.values import as_number
from finetune.runs.toml import typed_value
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import unusable

MOST = 0.05  # share of the rows: where there are more, they are what the data has
LONGER = 3  # times longer than every other label
SENTENCE = 8  # words
LEAST_LETTERS = 6  # of a word of which one letter more or less is a slip; shorter ones are often words (cat, cart)
UNKNOWN = "?.!_- …"
DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\.?([ T][\d:.]+)?")
THRICE = re.compile(r"([a-zà-ÿа-я])\1\1")  # as no word has a letter, but III
SYLLABLES = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")
FREQUENT = 100  # rows
SHOWN = 3
LABEL_MISTAKE = unusable(
    "label-mistake",
    "a label that no other row has looks like a mistake",
    "Correct it, or set keep=LABEL (or keep=all) to train on it",
)


def mistaken(counts: Mapping[str, int], column: str) -> dict[str, str]:
    """The labels of a single row that look like mistakes, with the reason.

    A label that is only rare is none, and neither is one in capitals, which `fix` corrects. A letter changed for
    another often makes another word (sulfite, sulfate), and so does one more at the end: these are only reported.
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
    if all(map(_has_letters, usual)) and not name.strip(UNKNOWN):
        return "a sign among words"
    if all(map(_has_letters, usual)) and (as_number(name) is not None or DATE.fullmatch(name.strip())):
        return "a number or a date among words"
    if len(name.split()) >= SENTENCE and len(name) > LONGER * max(map(len, usual)):
        return "a sentence among names"
    return ""


def _is_typo(name: str, meant: str, usual: Mapping[str, int]) -> bool:
    """Whether one edit is a slip, and usual labels are not an edit apart too (`grade A` and `grade B`).

    A syllable of Korean, Chinese or Japanese more or less is another word.
    """
    near = any(misspelled({near: 1, meant: FREQUENT}) for near in usual if near != meant)
    return not near and not SYLLABLES.search(name) and _is_slip(name, meant)


def _is_slip(name: str, meant: str) -> bool:
    """Whether two letters are exchanged, or one is missing or added, within a longer word."""
    if THRICE.search(name) and not THRICE.search(meant):
        return True
    name, meant = name.casefold(), meant.casefold()
    ends = name[0] == meant[0] and name[-1] == meant[-1]
    exchanged = len(name) == len(meant) and sorted(name) == sorted(meant)
    return len(meant) >= LEAST_LETTERS and ends and (exchanged or len(name) != len(meant))


def _has_letters(name: str) -> bool:
    return any(map(str.isalpha, name))


def mistake_words(layout: Layout, label: str) -> str:
    """Why a row with such a label is left out, in words that follow `row 5`, and how to keep it."""
    others = [shown(name) for name in layout.mistakes if name != label]
    listed = ", ".join(others[:SHOWN]) + (f" and {len(others) - SHOWN} more" if len(others) > SHOWN else "")
    such = f"; other such labels: {listed}" if others else ""
    keep = typed_value("keep", "all" if others or "," in label else label)
    return (
        f"has the label {shown(label)} ({layout.mistakes[label]}), which no other row has{such}; "
        f"{shlex.quote(f'keep={keep}')} keeps {'them' if others else 'it'}"
    )
