"""Detects files with one word per line by their content: delimiter, columns, sentences."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from finetune.data.column_types import counts_up
from finetune.data.formats.tag_forms import PREFIX, TagForm, are_chunks, form_of
from finetune.data.formats.word_lines import DOCUMENT, JOINED, SPACES, WordLines, fields_of, is_blank, is_comment
from finetune.data.values import as_number

LINES = 3_000  # that are inspected
DELIMITERS = ("\t", ",", ";", SPACES)
REGULAR = 0.75  # share of the lines with the usual number of columns
FEWEST_WORDS = 3  # mean words per sentence
KNOWN = frozenset(
    {"word", "words", "token", "tokens", "form", "text", "tag", "tags", "ner", "label", "ner_tags", "bio"}
)
SPACED = re.compile(r"\S\s+\S")
LINE_ENDS = re.compile(r"\r\n|\n|\r")


class NoSentences(Exception):
    """One word per line with tags, but nothing marks the end of a sentence."""


def word_lines_of(text: str) -> WordLines | None:
    """Detects the layout of a text with one word per line; None where it is something else.

    Raises NoSentences where there are words and tags, but neither empty lines nor a column of sentence numbers.
    """
    lines = LINE_ENDS.split(text)[:LINES]
    for delimiter in DELIMITERS:
        if found := _read_by(lines, delimiter):
            return found
    return _bare_words(lines)


def _read_by(lines: Sequence[str], delimiter: str) -> WordLines | None:
    """The layout of the lines if this delimiter separates their columns."""
    some = [line for line in lines if line.strip()]
    if sum(delimiter in line for line in some[:200]) < 0.5 * len(some[:200]):
        return None
    quoted = delimiter in ",;" or _quotes_words(some, delimiter)
    rows = [fields_of(line, delimiter, quoted=quoted) for line in lines]
    blank = [is_blank(line, row) for line, row in zip(lines, rows, strict=True)]
    filled = [row for row, empty in zip(rows, blank, strict=True) if not empty and row[:1] != [DOCUMENT]]
    widths = Counter(map(len, filled))
    if not widths:
        return None
    width = widths.most_common(1)[0][0]
    words = [
        row
        for line, row, empty in zip(lines, rows, blank, strict=True)
        if not empty and row[:1] != [DOCUMENT] and not is_comment(line, row, width)
    ]
    whole = [row for row in words if len(row) == width]
    if width < 2 or len(whole) < max(2, REGULAR * len(words)):
        return None
    return _described(whole, delimiter, quoted=quoted, gaps=_gaps(blank), words=len(words))


def _described(
    rows: Sequence[Sequence[str]], delimiter: str, *, quoted: bool, gaps: int, words: int
) -> WordLines | None:
    """The layout of rows of equal width; None where no column holds words, or they are not one word per row."""
    width = len(rows[0])
    columns = [[row[i] for row in rows[1:]] or [rows[0][i]] for i in range(width)]
    found = {i: form_of(Counter(cell.strip() for cell in cells)) for i, cells in enumerate(columns)}
    forms = {i: form for i, form in found.items() if form is not None}
    tags = list(forms)
    word = _word_column(columns, tags)
    if word is None:
        return None
    first = [cell.strip() for cell in rows[0]]
    header = _names_columns(first, columns, forms, word)
    names = tuple(_header_names(first)) if header else _names(width, word, tags, columns)
    numbers = "" if gaps else _sentence_column(columns, names, {word, *tags})
    others = [cells for name, cells in zip(names, columns, strict=True) if name != numbers]
    if not all(map(_single, others)):
        return None
    if tags and not gaps and not numbers:
        if any(forms[place].form == "bare" for place in tags):
            return None
        raise NoSentences
    if not tags and (gaps < 3 or words < FEWEST_WORDS * gaps):
        return None
    return WordLines(
        delimiter=delimiter,
        names=names,
        header=header,
        quoted=quoted,
        sentence=numbers,
        characters=are_characters(columns[word]),
    )


def are_characters(words: Sequence[str]) -> bool:
    """Whether words are the single characters of a text, blanks perhaps among them."""
    return len(words) > 1 and sum(len(word) <= 1 for word in words) >= 0.9 * len(words)


def _bare_words(lines: Sequence[str]) -> WordLines | None:
    """The layout of words without tags, as for prediction: many short sentences of one word per line."""
    blank = [not line.strip() for line in lines]
    words = [line for line, empty in zip(lines, blank, strict=True) if not empty]
    gaps = _gaps(blank)
    if (
        gaps < 2
        or len(words) < FEWEST_WORDS * gaps
        or any(re.search(r"\s", line.strip()) or "," in line[1:] for line in words)
    ):
        return None
    return WordLines(delimiter="\t", names=("words",))


def _gaps(blank: Sequence[bool]) -> int:
    """Counts the runs of empty lines between lines that are not empty."""
    last = max((i for i, empty in enumerate(blank) if not empty), default=0)
    return sum(empty and not before for before, empty in pairwise(blank[:last]))


def _word_column(columns: Sequence[Sequence[str]], tags: Sequence[int]) -> int | None:
    """The column of words: single words with letters, not a counter, and the most distinct values."""
    best: tuple[int, int] | None = None
    for place, cells in enumerate(columns):
        if place in tags or not _single(cells) or _is_running_number(cells) or not _has_letters(cells):
            continue
        distinct = len(set(cells))
        if best is None or distinct > 1.5 * best[0]:
            best = distinct, place
    return None if best is None else best[1]


def _has_letters(cells: Sequence[str]) -> bool:
    """Whether enough cells have letters, as words do and numbers of sentences do not."""
    return sum(any(map(str.isalpha, cell)) for cell in cells) >= 0.3 * len(cells)


def _is_running_number(cells: Sequence[str]) -> bool:
    """Whether cells number the words of a sentence, or of the file: 1, 2, 3 (and 4-5, 5.1 as in CoNLL-U)."""
    numbers = [as_number(cell) for cell in cells if not JOINED.fullmatch(cell.strip())]
    found = [number for number in numbers if number is not None]
    if not found or len(found) < 0.98 * len(numbers):
        return False
    rising = sum(after == before + 1 or after <= 1 for before, after in pairwise(found))
    return rising >= 0.9 * max(1, len(found) - 1) or counts_up(found)


def _names_columns(
    first: Sequence[str], columns: Sequence[Sequence[str]], forms: Mapping[int, TagForm], word: int
) -> bool:
    """Whether the first row is a header: it has a known name, or no tag where the other rows have one."""
    if any(first[place].lower() in KNOWN for place in (word, *forms)):
        return True
    return bool(forms) and not any(
        first[place] in columns[place] or form.standard(first[place]) != first[place] or PREFIX.fullmatch(first[place])
        for place, form in forms.items()
    )


def _header_names(first: Sequence[str]) -> list[str]:
    names: list[str] = []
    for place, cell in enumerate(first, start=1):
        name = cell.strip() or f"column {place}"
        names.append(f"{name} {place}" if name in names else name)
    return names


def _names(width: int, word: int, tags: Sequence[int], columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """`words` and `tags` where it is clear which column holds them, else `column 3`, counted from 1."""
    names = [f"column {place}" for place in range(1, width + 1)]
    names[word] = "words"
    entities = [i for i in tags if not are_chunks(columns[i])]
    if len(entities) == 1:
        names[entities[0]] = "tags"
    return tuple(names)


def _sentence_column(columns: Sequence[Sequence[str]], names: Sequence[str], taken: set[int]) -> str:
    """The column that numbers the sentences: one value for each run of rows, or only in its first row."""
    found: list[tuple[bool, int, str]] = []
    for place, cells in enumerate(columns):
        values = [cell.strip() for cell in cells]
        filled = [value for value in values if value]
        if place in taken or len(filled) < 2:
            continue
        runs = [value for i, value in enumerate(filled) if i == 0 or value != filled[i - 1]]
        if len(set(runs)) == len(runs) and 2 <= len(runs) <= 0.5 * len(values):
            found.append(("sent" in names[place].lower(), len(runs), names[place]))
    return max(found)[2] if found else ""


def _single(cells: Sequence[str]) -> bool:
    """Whether nearly all cells are single words."""
    return sum(bool(SPACED.search(cell)) for cell in cells) <= 0.02 * len(cells)


def _quotes_words(lines: Sequence[str], delimiter: str) -> bool:
    """Whether cells are quoted: a quote in a word is doubled and enclosed, as CSV writers do."""
    cells = [cell for line in lines for cell in line.split(delimiter) if '"' in cell]
    whole = [len(cell) > 2 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "") for cell in cells]
    return bool(cells) and all(whole) and any(cell.count('"') > 2 for cell in cells)
