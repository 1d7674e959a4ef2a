"""Lines with a label and a text, without columns: `DESC:manner How ...`, `__label__x text`, `text@positive`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune.data.file_format import FileFormat, Format
from finetune.data.formats.dialect import are_rows
from finetune.data.issues import UNREADABLE, Finding
from finetune.data.open_files import FileStart
from finetune.data.records import Record

FASTTEXT = "__label__"
LINES = 2_000  # that are inspected
MOST_OF_LINES = 0.98
MARKED = 0.05  # share of the lines from which `__label__` marks labels: a line without it is a row without a label
SHARE_OF_LINES = 0.4  # share of the lines; labels such as `good` may be words of texts too
FEWEST_LINES = 30  # fewest lines from which a repeated first word is not chance
ENDS = ("@", "|||", "::", "#")  # between a text and the label after it
PLAIN = re.compile(r"[a-z][a-z_-]*|[A-Z][A-Z_-]*")  # words that may be a label, where few such words begin all lines
LABEL = re.compile(r"[^\W_]+(:[^\W_]+)+|\d{1,3}|[A-Z][A-Z_-]+|\[[^\]]+\]")  # unlikely to be a word of a sentence


@dataclass(frozen=True, kw_only=True)
class LabelledLines:
    """Where the label is (`first` or `last`), its separator from the text, and whether a line may have `several`."""

    place: str
    separator: str
    several: bool = False

    def __str__(self) -> str:
        return f"the label comes {self.place}"

    def cells(self, line: str) -> tuple[str | list[str] | None, str] | None:
        """(label or labels, text) of a line; None where it lacks one, though `__label__` may be missing."""
        if self.separator == FASTTEXT:
            return self._fasttext(line)
        if self.place == "first":
            label, _, text = line.strip().partition(" ")
        else:
            text, _, label = line.strip().rpartition(self.separator)
        return (label.strip(), text.strip()) if label.strip() and text.strip() else None

    def _fasttext(self, line: str) -> tuple[str | list[str] | None, str] | None:
        words = re.split(r"[ \t]", line.strip())
        labels = [word.strip().removeprefix(FASTTEXT) for word in words if word.startswith(FASTTEXT)]
        text = " ".join(word for word in words if not word.startswith(FASTTEXT)).strip().removeprefix(",").strip()
        if not text:
            return None
        return (labels if self.several else labels[0]) if labels else None, text


def sniff(start: FileStart) -> LabelledLines | None:
    """Detects how lines hold labels; None where they are something else, such as delimited rows."""
    split = labelled_lines_of(start.lines)
    return split if split and (split.separator == FASTTEXT or not are_rows(start.text)) else None


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each line that is not blank."""
    for row, line, text in form.filled_lines(path):
        if (cells := form.layout.cells(text)) is None:
            yield Record(row=row, line=line, fault=Finding(UNREADABLE, "has no label and text"))
        else:
            yield Record(row=row, line=line, values={"label": cells[0], "text": cells[1]})


def labelled_lines_of(lines: Sequence[str]) -> LabelledLines | None:
    """Detects how lines hold labels; None where they are something else."""
    filled = [line.strip() for line in lines[:LINES] if line.strip()]
    marked = [line for line in filled if line.startswith(FASTTEXT) or line.split()[-1].startswith(FASTTEXT)]
    if len(marked) >= max(1, MARKED * len(filled)):
        place, most = "first" if marked[0].startswith(FASTTEXT) else "last", max(map(_count_labels, marked))
        return LabelledLines(place=place, separator=FASTTEXT, several=most > 1)
    first = [line.split(None, 1)[0] for line in filled]
    if _are_labels(first) and all(" " in line for line in filled) and not _are_usual(first, filled):
        return LabelledLines(place="first", separator=" ")
    for separator in ENDS:
        parts = [line.rpartition(separator) for line in filled]
        if sum(bool(text.strip() and label.strip()) for text, _, label in parts) >= MOST_OF_LINES * len(filled):
            last = [label.strip() for _, _, label in parts]
            if _are_labels(last) or (
                len(filled) >= 4 and len(set(last)) <= max(2, 0.1 * len(filled)) and all(map(str.isalpha, last))
            ):
                return LabelledLines(place="last", separator=separator)
    return None


def _count_labels(line: str) -> int:
    return sum(word.startswith(FASTTEXT) for word in line.split())


def _are_labels(words: Sequence[str]) -> bool:
    """Whether the words at one position of all lines are labels: few and repeated, or spelled like labels."""
    counts = Counter(words)
    if len(words) < 2 or len(counts) < 2:
        return False
    like_labels = sum(LABEL.fullmatch(word) is not None for word in words) >= MOST_OF_LINES * len(words)
    if like_labels and len(counts) <= max(2, 0.5 * len(words)):
        return True
    once = sum(count == 1 for count in counts.values())
    plain = all(PLAIN.fullmatch(word) for word in counts)
    return (
        plain
        and len(words) >= FEWEST_LINES
        and len(counts) <= max(2, 0.06 * len(words))
        and once <= 0.1 * len(counts) + 0.5
    )


def _are_usual(words: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether most lines have one of their first words again: they are words of the texts, few as these may be."""
    distinct = set(words)
    return sum(not distinct.isdisjoint(line.split()[1:]) for line in lines) > SHARE_OF_LINES * len(lines)


FORMAT = Format(name="labelled-lines", title="a label and a text per line", names_columns=False, sniff=sniff, read=read)
