"""Running text in any language as words with their positions, and character spans of entities as tags of these words.

Words are runs of letters and digits, or single signs; in scripts without spaces, and in Korean, where particles follow
names without a space, every character is a word.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from finetune.data.formats.spans import ELSEWHERE, OUTSIDE, Span, items_in, read_spans
from finetune.data.values import as_text, is_missing
from finetune.task_types.columns import Layout

WordsInText = tuple[tuple[str, ...], tuple[int, ...]]  # words, and the index of the first character of each
CHARACTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
WORD = re.compile(rf"[{CHARACTERS}]|[^\W_{CHARACTERS}]+|\S")

# Signs around the words of a raw text.
OPENING = "\"'`([{<«“‘„¿¡"
CLOSING = ".,!?;:\"')]}>»”’…。、，！？；："
COUNTED = tuple(",!?;:")  # a full stop may belong to an abbreviation
TITLES = "mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|no|inc|ltd|co|corp|gen|col|lt|sgt|rev|sen|gov"
ABBREVIATION = rf"(?i:\w|\w+(?:\.\w+)+|{TITLES})\.(?!\.)"
SIGNED = re.compile(rf"([{re.escape(OPENING)}]*)({ABBREVIATION}|.*?)((?:(?<=\w)['’][sS]|[{re.escape(CLOSING)}])*)")
SIGN = re.compile(r"(?<=\w)['’][sS]|(.)\1*")

# What is changed in spans.
OVERLAPPING = "that overlap a longer one, or have another label too: left out (shape=overlapping-spans keeps them)"
WIDENED = "that begin or end within a word: widened to the word"
SHARED = "in a word of another entity: left out, since a word has one tag"
CUT = "that begin in a word of another entity: shortened, since a word has one tag"
LEFT_OUT = (OUTSIDE, ELSEWHERE, OVERLAPPING, SHARED, CUT)


def segmented(text: str) -> WordsInText:
    """The words of a text, and the index of the first character of each."""
    return _apart((match[0], match.start()) for match in WORD.finditer(text))


def characters_of(text: str) -> WordsInText:
    """The characters of a text without its spaces, and the index of each."""
    return _apart((character, place) for place, character in enumerate(text) if not character.isspace())


def split_words(text: str) -> WordsInText:
    """The words of a raw text with the signs around them as words, as tokenised data has them: `in Paris .`.

    A text that has a sign between blanks is taken to be tokenised already: its words are those between blanks.
    """
    words = [(match[0], match.start()) for match in re.finditer(r"\S+", text)]
    if not any(len(word) == 1 and word in CLOSING for word, _ in words):
        words = [(part, start + place) for word, start in words for part, place in _parts(word)]
    return _apart(words)


def _parts(word: str) -> Iterable[tuple[str, int]]:
    """A word without its outer signs, and each of these, in their order; each row of closing ones (`...`) is one."""
    match = SIGNED.fullmatch(word)
    assert match
    yield from ((sign, place) for place, sign in enumerate(match[1]))
    if match[2]:
        yield match[2], match.start(2)
    yield from ((sign[0], sign.start()) for sign in SIGN.finditer(word, match.start(3)))


def _apart(words: Iterable[tuple[str, int]]) -> WordsInText:
    pairs = list(words)
    return tuple(word for word, _ in pairs), tuple(start for _, start in pairs)


def signs_are_apart(words: Sequence[str]) -> bool:
    """Whether signs are words of their own in tokenised data, more often than the last character of a word."""
    joined = sum(word.endswith(COUNTED) and word[-2:-1].isalnum() for word in words)
    return sum(word in COUNTED for word in words) > joined


def unit(words: Iterable[str]) -> str:
    """What these words are called: `character` where most that have letters are single ones, else `word`."""
    lengths = [len(word) for word in words if word.isalnum()]
    return "character" if 2 * lengths.count(1) > len(lengths) else "word"


class UsableSpans(NamedTuple):
    """The usable spans of a text, and how many were trimmed, widened or dropped."""

    spans: tuple[Span, ...]
    changes: Counter[str]


def spans_of(cell: Any, form: Sequence[str], text: str) -> UsableSpans:
    """The spans in a cell, without those that overlap a longer one; of several at one place the first."""
    spans, changes = read_spans(cell, form, text)
    free: list[Span] = []
    for span in sorted(dict.fromkeys(spans), key=lambda span: (span[0] - span[1], span[0])):
        if any(span[0] < end and start < span[1] for start, end, _ in free):
            changes[OVERLAPPING] += 1
        else:
            free.append(span)
    return UsableSpans(tuple(sorted(free)), changes)


def tags_for(
    words: Sequence[str], starts: Sequence[int], spans: Sequence[Span]
) -> tuple[tuple[str, ...], Counter[str]]:
    """IOB2 tags of words, and how many spans were widened to a word, or lost one to the span before them."""
    tags, changes = ["O"] * len(words), Counter[str]()
    ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
    for start, end, label in spans:
        touched = [i for i in range(len(words)) if starts[i] < end and start < ends[i]]
        free = [i for i in touched if tags[i] == "O"]
        if free != touched:
            changes[CUT if free else SHARED] += 1
        if free:
            changes[WIDENED] += starts[free[0]] < start or ends[free[-1]] > end
            tags[free[0]] = f"B-{label}"
        for i in free[1:]:
            tags[i] = f"I-{label}"
    return tuple(tags), +changes


def changes_of_tags(cell: Any, form: Sequence[str], text: str) -> Iterable[str]:
    """What is changed in the spans of a cell so that they become tags."""
    spans, changes = spans_of(cell, form, text)
    return *changes, *tags_for(*segmented(text), spans)[1]


def changed_spans(
    layout: Layout, columns: Mapping[str, Sequence[Any]], changes_in: Callable[..., Iterable[str]] = changes_of_tags
) -> dict[str, Sequence[int]]:
    """What `changes_in(cell, form, text)` changes in the spans of a file, each with the indexes of its rows."""
    changes: defaultdict[str, list[int]] = defaultdict(list)
    if layout.spans and layout.label and layout.label[0] in columns:
        texts, cells = columns[layout.text[0]], columns[layout.label[0]]
        for index, (text, cell) in enumerate(zip(texts, cells, strict=True)):
            if not is_missing(text) and items_in(cell):
                for what in changes_in(cell, layout.spans, as_text(text)):
                    changes[f"spans {what}"].append(index)
    return dict(changes)
