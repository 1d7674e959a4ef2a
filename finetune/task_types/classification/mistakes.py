"""Labels of a single row that are unlike the others: mistakes, which are left out, and words that may be right."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from finetune.data.column_types import is_date
from finetune.data.issues import Issue
from finetune.data.messages import first_of, shown
from finetune.data.spellings import misspelled
from finetune.data.values import as_number
from finetune.runs.toml import typed_value
from finetune.task_types.columns import DROPPED, Layout
from finetune.task_types.row_issues import unusable

MOST_OF_ROWS = 0.05  # share of the rows: where there are more, they are what the data has
LONGER, LONG_CHARS = 3, 30  # times longer than every other label, and characters
SENTENCE = 10  # words; fewer where it ends as a sentence does
SENTENCE_END = re.compile(r"(?<!etc)[.!?。！？…]$|[다요죠까]$")
LINK = re.compile(r"(https?://|www\.)\S+$")
LEAST_LETTERS = 8  # of a label in which a letter more or less is a slip; shorter ones are often words (neural, neutral)
UNKNOWN = "?.!_- …"
THRICE = re.compile(r"([a-zà-ÿа-я])\1\1")  # as no word has a letter, but III
SYLLABLES = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")
FREQUENT = 100  # rows
LABELS_SHOWN = 3
LABEL_MISTAKE = unusable(
    "label-mistake",
    "a label that no other row has looks like a mistake",
    "Correct it, or set keep=LABEL (or keep=all) to train on it",
)
LABEL_DROPPED = Issue(
    code="label-dropped",
    severity="note",
    meaning="rows whose label drop= leaves out",
    remedy="Take the label out of drop= to train on it",
)
LABEL_UNLIKE = Issue(
    code="label-unlike",
    severity="warning",
    meaning="labels of a single row that may be mistakes",
    remedy="Correct it, or set drop=LABEL to leave its row out, or keep=LABEL if it is right",
)


def unlike(counts: Mapping[str, int], column: str, texts: Iterable[str] = ()) -> tuple[dict[str, str], dict[str, str]]:
    """The labels of a single row that are unlike the others, with the reason: (mistakes, those that may be right).

    Leaving out a right label costs more than training on a wrong one. So only a slip is a mistake, and not a letter
    changed for another or one more at the end, which often make another word, nor a word that the texts have.
    """
    single = [name for name, count in counts.items() if count == 1]
    usual = {name: count for name, count in counts.items() if count > 1}
    if not single or len(usual) < 2:
        return {}, {}
    near = {name: meant for name, meant in misspelled(counts).items() if name not in usual}
    meant = {name: other for name, other in near.items() if not _by_nature(other, usual)}
    most = MOST_OF_ROWS * sum(counts.values())
    reasons = {name: dict(_reasons(name, meant.get(name, ""), usual, column)) for name in single}
    mistakes = {name: some[True] for name, some in reasons.items() if True in some}
    if slips := sorted(name for name in mistakes if name in meant):
        words = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, slips))})(?!\w)", re.IGNORECASE)
        occurring = {match.casefold() for text in texts for match in words.findall(text)}
        slips = [name for name in slips if name.casefold() in occurring]
    mistakes = {name: why for name, why in mistakes.items() if name not in slips and len(mistakes) <= most}
    doubts = {name: some[False] for name, some in reasons.items() if False in some and name not in mistakes}
    return mistakes, doubts if len(doubts) <= max(1, most) else {}


def _by_nature(meant: str, usual: Mapping[str, int]) -> bool:
    return any(misspelled({near: 1, meant: FREQUENT}) for near in usual if near != meant)


def _reasons(name: str, meant: str, usual: Mapping[str, int], column: str) -> Iterator[tuple[bool, str]]:
    """(whether a label surely is a mistake, why it is or may be one), the clearest reasons last."""
    is_long = len(name) >= LONG_CHARS and len(name) > LONGER * max(map(len, usual))
    letters = {_has_letters(other) for other in usual}
    if is_long:
        yield False, "much longer than the others"
    if letters == {False} and _has_letters(name):
        yield False, "with letters, which no other has"
    if letters == {True} and not _has_letters(name):
        yield False, "without letters, which all others have"
    if is_long and _is_sentence(name):
        yield True, "a sentence among names"
    for holds, what in ((LINK.match, "a link"), (is_date, "a date")):
        if holds(name) and not any(map(holds, usual)):
            yield True, f"{what}, unlike the others"
    if letters == {True} and not name.strip(UNKNOWN):
        yield True, "a sign among words"
    if name.casefold() == column.casefold():
        yield True, "the column's name"
    if meant:
        yield False, f"perhaps {shown(meant)}"
        if not SYLLABLES.search(name) and _is_slip(name, meant):
            yield True, f"perhaps {shown(meant)}"


def _is_slip(name: str, meant: str) -> bool:
    """Whether two letters are exchanged, or one is missing or added within a word, in a long label."""
    if THRICE.search(name) and not THRICE.search(meant):
        return True
    name, meant = name.casefold(), meant.casefold()
    if len(meant) < LEAST_LETTERS:
        return False
    if len(name) == len(meant):
        return sorted(name) == sorted(meant)
    words, others = name.split(), meant.split()
    changed = [(one, other) for one, other in zip(words, others, strict=False) if one != other]
    return len(words) == len(others) and all((one[0], one[-1]) == (other[0], other[-1]) for one, other in changed)


def _is_sentence(name: str) -> bool:
    words = name.split()
    capitals = sum(word[0].isupper() for word in words)
    return (len(words) >= SENTENCE or SENTENCE_END.search(name) is not None) and capitals <= len(words) / 2


def _has_letters(name: str) -> bool:
    return any(map(str.isalpha, name)) and as_number(name) is None  # 1e5


def mistake_words(layout: Layout, label: str) -> str:
    """Why a row with such a label is left out, in words that follow `row 5`, and how to keep it."""
    others = [shown(name) for name, why in layout.mistakes.items() if name != label and why != DROPPED]
    such = f"; other such labels: {first_of(others, LABELS_SHOWN)}" if others else ""
    keep = _typed("keep", "all" if others or "," in label else label)
    why = f"has the label {shown(label)} ({layout.mistakes[label]}), which no other row has{such}"
    return f"{why}; {keep} keeps {'them' if others else 'it'}"


def doubt_words(layout: Layout) -> str:
    """The labels that may be mistakes, with how to leave them out."""
    listed = [f"{shown(name)} ({why})" for name, why in list(layout.doubts.items())[:LABELS_SHOWN]]
    more = len(layout.doubts) - LABELS_SHOWN
    what, it = ("a label of a single row that may be a mistake", "it")
    if len(layout.doubts) > 1:
        what, it = "labels of a single row that may be mistakes", "them"
    named = "LABEL" if more > 0 else ",".join(layout.doubts)
    return (
        f"{what}: {', '.join(listed)}{f' and {more} more' * (more > 0)}; {_typed('drop', named)} leaves {it} out, "
        f"{_typed('keep', named)} hides this line"
    )


def _typed(key: str, value: str) -> str:
    return shlex.quote(f"{key}={typed_value(key, value)}")
