"""Detects the dialect of a text: delimiter, quotes, header, and unquoted texts that contain the delimiter."""

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from finetune.data.formats.dialect import DELIMITERS, Dialect, split_rows
from finetune.data.formats.run_on import run_on_column, usual_width
from finetune.data.values import NUMBER
from finetune.data.words.lists import word_list

MOST_WORDS = 50  # that cells of tags are made of
SHARE_OF_CELLS = 0.8
LONGEST_NAME = 3  # words of a column's name
MOST_ABOVE = 10  # lines that may be above the header
RETURN = re.compile(r"\r\n?")
SWAPPED = str.maketrans({"'": '"', '"': "'"})


def find_dialect(text: str, suffix: str) -> Dialect:
    """Detects the dialect of a text from a file with this suffix."""
    if skip := _lines_above(text):
        return replace(find_dialect("".join(_lines(text)[skip:]), suffix), skip=skip)
    if _in_single_quotes(text):
        return replace(find_dialect(text.translate(SWAPPED), suffix), quote="'")
    delimiter, quoted = _delimiter(text, suffix)
    header = _has_header(text, delimiter, quoted=quoted)
    indexed = header and _is_indexed(text, delimiter, quoted=quoted)
    found = Dialect(delimiter=delimiter, quoted=quoted, header=header, indexed=indexed)
    if not delimiter or indexed:
        return found
    rows = [fields for fields in split_rows(text, delimiter, quoted=quoted) if fields][:-1]
    width = len(rows[0]) if header and rows else usual_width(rows)
    run_on = run_on_column(rows[header:], width)
    return found if run_on is None else replace(found, run_on=run_on, width=width)


def _lines_above(text: str) -> int:
    """Counts the lines above the header: `sep=;`, comments, or a title with empty cells after it."""
    lines = [line.rstrip("\r\n") for line in _lines(text)[: MOST_ABOVE + 40]]
    if not any(line.strip() for line in lines[1:]):
        return 0
    if re.fullmatch(r"sep=.", lines[0].strip(), re.IGNORECASE):
        return 1
    if comments := _comments_above(lines):
        return comments
    for sign in DELIMITERS:
        filled = [sum(bool(cell.strip()) for cell in line.split(sign)) for line in lines]
        title = next((number for number, count in enumerate(filled) if count > 1), 0)
        same = len({line.count(sign) for line in lines[:-1]}) == 1 and lines[0].count(sign) > 0
        if 0 < title <= MOST_ABOVE and same and len(lines) > title + 4:
            return title
    return 0


def _comments_above(lines: Sequence[str]) -> int:
    """Counts the comment lines (#) above the rows; a single one with as many cells as these is a header."""
    count = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    rest = [line for line in lines[count:] if line.strip()]
    if not 0 < count <= MOST_ABOVE or not rest or any(line.startswith("#") for line in rest):
        return 0
    widths = {line.count(sign) for line in rest[:-1] for sign in DELIMITERS} - {0}
    return 0 if count == 1 and any(lines[0].count(sign) in widths for sign in DELIMITERS) else count


def _lines(text: str) -> list[str]:
    """The lines with their line ends, as a file yields them."""
    return list(io.StringIO(text, newline=""))


def _in_single_quotes(text: str) -> bool:
    """Whether single quotes enclose cells: only then do all rows have the same number of cells."""
    if '"' in text and _proper_quotes(text, ","):
        return False
    text = RETURN.sub("\n", text)
    for delimiter in DELIMITERS:
        edge = re.escape(delimiter)
        cell = rf"(?:^|{edge})'(?:[^'\n]|'')*{edge}(?:[^'\n]|'')*'(?={edge}|\r|$)"
        if len(re.findall(cell, text, flags=re.MULTILINE)) < 3:
            continue
        swapped = Counter(len(row) for row in split_rows(text.translate(SWAPPED), delimiter, quoted=True) if row)
        plain = Counter(len(row) for row in split_rows(text, delimiter, quoted=True) if row)
        width, rows = swapped.most_common(1)[0]
        if width > 1 and rows >= 0.98 * swapped.total() and rows > plain.most_common(1)[0][1]:
            return True
    return False


def are_rows(text: str) -> bool:
    """Whether one of the delimiters splits nearly all lines into the same number of cells."""
    for delimiter, quoted in ((d, q) for d in DELIMITERS for q in (True, False)):
        widths = Counter(len(fields) for fields in split_rows(text, delimiter, quoted=quoted) if fields)
        width, rows = widths.most_common(1)[0]
        if width > 1 and rows >= 0.95 * widths.total():
            return True
    return False


def _is_indexed(text: str, delimiter: str, *, quoted: bool) -> bool:
    """Whether all rows have one cell more than the header, and the first is not a text: a data frame's index."""
    rows = [fields for fields in split_rows(text, delimiter, quoted=quoted) if fields]
    first, rest = rows[0], rows[1:]
    if len(rest) < 2 or any(len(fields) != len(first) + 1 for fields in rest[:-1]):
        return False
    indexes = [fields[0] for fields in rest[:-1]]
    return len(set(indexes)) == len(indexes) and not any(" " in index.strip() for index in indexes)


def _delimiter(text: str, suffix: str) -> tuple[str, bool]:
    """The delimiter, and whether quotes enclose cells: the choice that gives the most rows the same number of fields.

    Quotes that would join lines which are complete rows are part of the texts.
    """
    if '"' in text and _are_quoted_texts(text):
        return "", True
    preferred = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(suffix, "")
    best, found = (0.0, False, False, False), ("", '"' in text and _proper_quotes(text, ","))
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        for quoted in (True, False) if '"' in text else (True,):
            found_rows = [len(fields) for fields in split_rows(text, delimiter, quoted=quoted) if fields]
            counts = Counter(found_rows)
            columns, rows = max(counts.items(), key=lambda item: item[1])
            if columns < 2:
                continue
            proper = not quoted or (_proper_quotes(text, delimiter) and not (delimiter == "\t" and _joins_rows(text)))
            indexed = found_rows[0] == columns - 1 > 0 and set(found_rows[1:]) == {columns}
            first = found_rows[0] == columns or indexed  # where the header lacks it, only texts contain it
            decimal = not re.search(rf"(?<!\d){re.escape(delimiter)}|{re.escape(delimiter)}(?!\d)", text)
            share = round(rows / counts.total(), 2) - 0.3 * (not proper) - 0.6 * (not first) - 0.2 * decimal
            rank = (share, delimiter == "\t", delimiter == preferred, quoted)  # texts hold commas rather than tabs
            if rank > best:
                best, found = rank, (delimiter, quoted)
    if best[0] < 0.5 and preferred and preferred in text.partition("\n")[0]:
        return preferred, found[1]
    return found if best[0] >= 0.5 else ("", '"' in text and _proper_quotes(text, ","))


def _are_quoted_texts(text: str) -> bool:
    """Whether each line is one cell in quotes, which may hold delimiters."""
    lines = text.splitlines()
    return all(re.fullmatch(r'\s*"([^"]|"")*"\s*', line) for line in lines[:-1] or lines if line.strip())


def _joins_rows(text: str) -> bool:
    """Whether lines are tab-separated rows of equal width, some of which quotes would join."""
    plain = Counter(len(fields) for fields in split_rows(text, "\t", quoted=False) if fields)
    width, rows = plain.most_common(1)[0]
    joined = sum(bool(fields) for fields in split_rows(text, "\t", quoted=True))
    return width > 1 and rows >= 0.99 * plain.total() and joined < plain.total()


def _proper_quotes(text: str, delimiter: str) -> bool:
    """Whether cells that begin with a quote also end with one, in nearly all rows."""
    edge = re.escape(delimiter)
    lines = RETURN.sub("\n", text)
    cells = re.findall(rf'(?:^|{edge})("(?:[^"]|"")*"(?=$|{edge})|"[^"\n]*)', lines, flags=re.MULTILINE)
    whole = sum(len(cell) > 1 and cell.endswith('"') for cell in cells)
    return bool(cells) and whole > 0.9 * len(cells)


def _has_header(text: str, delimiter: str, *, quoted: bool) -> bool:
    """Whether the first row is a header: not a number where other rows have numbers, no repeated value."""
    rows = [fields for fields in split_rows(text, delimiter, quoted=quoted) if fields][:500]
    first, rest = rows[0], [fields for fields in rows[1:] if len(fields) == len(rows[0])]
    if len(first) > 1 and all(len(cell.split()) <= LONGEST_NAME for cell in first):
        rest = [fields for fields in rest if fields != first] or rest  # a header again, of files that were joined
    if len(first) == 1 and len(first[0].split()) > 2:
        return False  # one text per line
    if any(len(cell) > 100 for cell in first):
        return not rest
    if _names_columns(first, rest):
        return True  # even where a label or a text is the name of its column
    for column, name in enumerate(first):
        below = [fields[column].strip() for fields in rest if fields[column].strip()]
        if not below:
            continue
        numeric = sum(NUMBER.fullmatch(cell) is not None for cell in below) > 0.9 * len(below)
        if numeric and NUMBER.fullmatch(name.strip()):
            return False
        if _is_of_words(name, below):
            return False
        if len(set(below)) <= 0.7 * len(below) and name.strip() in below:
            return False
    return True


def _names_columns(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has the usual name of a text, or numbers of columns from 0, over texts."""
    names = [cell.strip().casefold() for cell in first]
    numbers = names[names[0] == "" :]  # pandas gives its index no name
    counted = len(names) > 1 and numbers == list(map(str, range(len(numbers))))
    known = {*word_list("text"), *word_list("text_weak")}
    texts = [column for column, name in enumerate(names) if counted or name in known]
    return any(sum(" " in row[column] for row in rest) > SHARE_OF_CELLS * len(rest) for column in texts)


def _is_of_words(name: str, below: Sequence[str]) -> bool:
    """Whether a cell is made of a few words that the cells below are made of, as tags of words are."""
    words, known = name.split(), {word for cell in below for word in cell.split()}
    return len(words) > 1 and len(known) <= MOST_WORDS and known.issuperset(words)
