"""The dialect of a delimited text: how its lines are split into cells, and how that is detected."""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from finetune.data.file_start import WITHIN
from finetune.data.messages import noun, so_many
from finetune.data.values import NUMBER, as_text
from finetune.data.words.lists import word_list

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}

MOST_WORDS = 50  # that cells of tags are made of
SHARE_OF_CELLS = 0.8
LONGEST_NAME = 3  # words of a column's name
MOST_ABOVE = 10  # lines that may be above the header
RETURN = re.compile(r"\r\n?")
ASIDE = "\ufdd0"  # for a carriage return within a line: a sign that no text has
SWAPPED = str.maketrans({"'": '"', '"': "'"})
FEWEST_ROWS = 6  # from which a column whose text holds the delimiter can be inferred
SHARE_OF_ROWS = 0.05  # share of the rows that the smallest width of a file without a header must have
CLASSES = 50
FEW_LONGER, LONGER = 3, 0.02  # longer rows, and their share, from which they are not mistakes

csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How lines are split into cells; with an empty `delimiter` each line is one cell.

    `skip` lines are above the header. `indexed`: rows start with a cell that has no name in the header. `run_on`:
    the column whose texts hold the delimiter without quotes, of `width` columns. `names` are those of a file without
    header, where they are known.
    """

    delimiter: str
    quoted: bool
    quote: str = '"'
    header: bool = True
    indexed: bool = False
    run_on: int | None = None
    skip: int = 0
    width: int = 0
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        single = " in single quotes" if self.quote == "'" else ""
        parts = [f"{DELIMITERS[self.delimiter]}-separated" if self.delimiter else "one column"]
        parts += [f"cells may be quoted{single}" if self.quoted else "quotes are part of the text"]
        known = f": columns {', '.join(self.names)}, as in training" if self.names else ""
        parts += [] if self.header else [f"no header{known}"]
        parts += ["the first column has no name"] if self.indexed else []
        above = f"{so_many(self.skip, 'line')} above the header {noun(self.skip, 'is', 'are')} not read"
        parts += [above] if self.skip else []
        parts += [] if self.run_on is None else [f"column {self.run_on + 1} of {self.width} holds delimiters"]
        return ", ".join(parts)


def split_rows(text: str, delimiter: str, *, quoted: bool) -> list[list[str]]:
    """The cells of each row of a text that is not empty."""
    return list(filter(None, csv_reader(io.StringIO(text, newline=""), delimiter, quoted=quoted)))


def csv_reader(
    lines: Iterable[str], delimiter: str, *, quoted: bool, quote: str = '"', strict: bool = False
) -> Iterator[list[str]]:
    """Yields each row's fields; without a delimiter a line is one field. `strict` raises csv.Error for bad quotes.

    A carriage return within a line is part of a field, though csv.reader ends the row there.
    """
    separator = delimiter or "\x1f"
    if not quoted:
        return (text.split(separator) if (text := line.rstrip("\r\n")) else [] for line in lines)
    put_aside = (WITHIN.sub(ASIDE, line) if "\r" in line else line for line in lines)
    rows = csv.reader(put_aside, delimiter=separator, quotechar=quote, strict=strict)
    return ([cell.replace(ASIDE, "\r") if ASIDE in cell else cell for cell in cells] for cells in rows)


def joined(cells: Sequence[str], place: int, width: int, delimiter: str) -> list[str]:
    """The cells of a row, with those joined that belong to the column with index `place`."""
    end = place + len(cells) - width + 1
    return [*cells[:place], delimiter.join(cells[place:end]), *cells[end:]]


def find_dialect(text: str, suffix: str) -> Dialect:
    """Detects the dialect of a text from a file with this suffix."""
    lines = list(io.StringIO(text, newline=""))
    if skip := _lines_above([line.rstrip("\r\n") for line in lines[: MOST_ABOVE + 40]]):
        return replace(find_dialect("".join(lines[skip:]), suffix), skip=skip)
    if _in_single_quotes(text):
        return replace(find_dialect(text.translate(SWAPPED), suffix), quote="'")
    delimiter, quoted = _delimiter(text, suffix)
    rows = split_rows(text, delimiter, quoted=quoted)
    header = _has_header(rows[:500])
    indexed = header and _is_indexed(rows)
    found = Dialect(delimiter=delimiter, quoted=quoted, header=header, indexed=indexed)
    rows = rows[:-1]  # of which the last may be cut
    if not delimiter or indexed or not rows:
        return found
    width = len(rows[0]) if header else _smallest_width(rows)
    run_on = _run_on_column(rows[header:], width)
    return found if run_on is None else replace(found, run_on=run_on, width=width)


def are_rows(text: str) -> bool:
    """Whether one of the delimiters splits nearly all lines into the same number of cells."""
    widths = (_usual_width(split_rows(text, sign, quoted=quoted)) for sign in DELIMITERS for quoted in (True, False))
    return any(width > 1 and share >= 0.95 for width, share in widths)


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[int, float]:
    """The number of cells that most rows have, and their share."""
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return width, count / len(rows)


def _lines_above(lines: Sequence[str]) -> int:
    """Counts the lines above the header: `sep=;`, comments (#), or a title with empty cells after it.

    A single comment with as many cells as the rows is a header.
    """
    if not any(line.strip() for line in lines[1:]):
        return 0
    if re.fullmatch(r"sep=.", lines[0].strip(), re.IGNORECASE):
        return 1
    comments = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    rest = [line for line in lines[comments:] if line.strip()]
    if 0 < comments <= MOST_ABOVE and rest and not any(line.startswith("#") for line in rest):
        widths = {line.count(sign) for line in rest[:-1] for sign in DELIMITERS} - {0}
        return comments if comments > 1 or widths.isdisjoint(map(lines[0].count, DELIMITERS)) else 0
    for sign in DELIMITERS:
        title = next((n for n, line in enumerate(lines) if sum(map(bool, map(str.strip, line.split(sign)))) > 1), 0)
        title += is_group_line([line.split(sign) for line in lines[title:-1]])
        same = len({line.count(sign) for line in lines[:-1]}) == 1 and sign in lines[0]
        if 0 < title <= MOST_ABOVE and same and len(lines) > title + 4:
            return title
    return 0


def is_group_line(rows: Sequence[Sequence[object]]) -> bool:
    """Whether the first row names groups of columns, by empty or equal cells, and the second the columns, of which one
    has numbers below.
    """
    width = max((place for cells in rows[1:2] for place, cell in enumerate(cells, start=1) if as_text(cell)), default=0)
    first, names, *below = [[as_text(cell).strip() for cell in cells[:width]] for cells in rows] + [[], []]
    named = all(names) and len({*names}) == len(names) and not any(map(NUMBER.fullmatch, names))
    if not named or (all(first) and len({*first}) == len(first)):
        return False
    columns = zip_longest(*below, fillvalue="")
    return any(any(cells) and all(NUMBER.fullmatch(cell) or not cell for cell in cells) for cells in columns)


def _in_single_quotes(text: str) -> bool:
    """Whether single quotes enclose cells: only then do all rows have the same number of cells."""
    if "'" not in text or ('"' in text and _proper_quotes(text, ",")):
        return False
    text = RETURN.sub("\n", text)
    for delimiter in DELIMITERS:
        swapped, plain = (split_rows(one, delimiter, quoted=True) for one in (text.translate(SWAPPED), text))
        (width, share), (_, before) = _usual_width(swapped), _usual_width(plain)
        if width > 1 and share >= 0.98 and share * len(swapped) >= before * len(plain) + FEW_LONGER:
            return True
    return False


def _is_indexed(rows: Sequence[Sequence[str]]) -> bool:
    """Whether all rows have one cell more than the header, and the first is not a text: a data frame's index."""
    first, rest = rows[0], rows[1:]
    if len(rest) < 2 or any(len(cells) != len(first) + 1 for cells in rest[:-1]):
        return False
    indexes = [cells[0] for cells in rest[:-1]]
    return len(set(indexes)) == len(indexes) and not any(" " in index.strip() for index in indexes)


def _delimiter(text: str, suffix: str) -> tuple[str, bool]:
    """The delimiter, and whether quotes enclose cells: the choice that gives the most rows the same number of fields.

    Quotes that would join lines which are complete rows are part of the texts.
    """
    quotes = '"' in text
    if quotes and _are_quoted_texts(text):
        return "", True
    preferred = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(suffix, "")
    alone = "", quotes and _proper_quotes(text, ",")
    best, found = (0.0, False, False, False), alone
    choices = [
        (sign, quoted) for sign in DELIMITERS if sign in text for quoted in ((True, False) if quotes else (True,))
    ]
    for delimiter, quoted in choices:
        rows = split_rows(text, delimiter, quoted=quoted)
        width, share = _usual_width(rows)
        if width < 2:
            continue
        proper = not quoted or (_proper_quotes(text, delimiter) and not (delimiter == "\t" and _joins_rows(text)))
        widths = [len(cells) for cells in rows]
        indexed = widths[0] == width - 1 > 0 and set(widths[1:]) == {width}
        first = widths[0] == width or indexed  # where the header lacks it, only texts contain it
        decimal = not re.search(rf"(?<!\d){re.escape(delimiter)}|{re.escape(delimiter)}(?!\d)", text)
        score = round(share, 2) - 0.3 * (not proper) - 0.6 * (not first) - 0.2 * decimal
        rank = (score, delimiter == "\t", delimiter == preferred, quoted)  # texts hold commas rather than tabs
        if rank > best:
            best, found = rank, (delimiter, quoted)
    if best[0] >= 0.5:
        return found
    return (preferred, found[1]) if preferred and preferred in text.partition("\n")[0] else alone


def _are_quoted_texts(text: str) -> bool:
    """Whether each line is one cell in quotes, which may hold delimiters."""
    lines = text.splitlines()
    return all(re.fullmatch(r'\s*"([^"]|"")*"\s*', line) for line in lines[:-1] or lines if line.strip())


def _joins_rows(text: str) -> bool:
    """Whether lines are tab-separated rows of equal width, some of which quotes would join."""
    plain = split_rows(text, "\t", quoted=False)
    width, share = _usual_width(plain)
    return width > 1 and share >= 0.99 and len(split_rows(text, "\t", quoted=True)) < len(plain)


def _proper_quotes(text: str, delimiter: str) -> bool:
    """Whether cells that begin with a quote also end with one, in nearly all rows."""
    edge = re.escape(delimiter)
    lines = RETURN.sub("\n", text)
    cells = re.findall(rf'(?:^|{edge})("(?:[^"]|"")*"(?=$|{edge})|"[^"\n]*)', lines, flags=re.MULTILINE)
    whole = sum(len(cell) > 1 and cell.endswith('"') for cell in cells)
    return bool(cells) and whole > 0.9 * len(cells)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a header: not a number where other rows have numbers, no repeated value."""
    first, rest = rows[0], [cells for cells in rows[1:] if len(cells) == len(rows[0])]
    if len(first) > 1 and all(len(cell.split()) <= LONGEST_NAME for cell in first):
        rest = [cells for cells in rest if cells != first] or rest  # a header again, of files that were joined
    if len(first) == 1 and len(first[0].split()) > 2:
        return False  # one text per line
    if any(len(cell) > 100 for cell in first):
        return not rest
    columns = [[cells[place].strip() for cells in rest if cells[place].strip()] for place in range(len(first))]
    if is_header_of_texts(first, rest):
        return True  # even where a label or a text is the name of its column
    if any(map(_is_a_number, first, columns)):
        return False
    return any(map(_is_no_value, first, columns)) or not any(map(_is_a_cell, first, columns))


def _is_a_number(name: str, below: Sequence[str]) -> bool:
    """Whether the first cell of a column is a number, as nearly all below are."""
    numbers = sum(map(bool, map(NUMBER.fullmatch, below)))
    return NUMBER.fullmatch(name.strip()) is not None and bool(below) and numbers > 0.9 * len(below)


def _is_no_value(name: str, below: Sequence[str]) -> bool:
    """Whether the first cell of a column is a word that is none of its values, which all recur."""
    return name.strip().isidentifier() and bool(below) and name not in below and min(Counter(below).values()) > 1


def _is_a_cell(name: str, below: Sequence[str]) -> bool:
    """Whether the first cell of a column is one of its values rather than its name."""
    repeated = len(set(below)) <= 0.7 * len(below) and name.strip() in below
    return bool(below) and bool(repeated or _is_of_words(name, below))


def is_header_of_texts(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has the usual name of a text, or numbers of columns from 0, over texts."""
    names = [cell.strip().casefold() for cell in first]
    numbers = names[names[0] == "" :]  # pandas gives its index no name
    counted = len(names) > 1 and numbers == list(map(str, range(len(numbers))))
    known = {*word_list("text"), *word_list("text_weak")}
    texts = [column for column, name in enumerate(names) if counted or {name, name.removesuffix("s")} & known]
    return any(sum(" " in row[column] for row in rest) > SHARE_OF_CELLS * len(rest) for column in texts)


def _is_of_words(name: str, below: Sequence[str]) -> bool:
    """Whether a cell is made of a few words that the cells below are made of, as tags of words are."""
    words, known = name.split(), {word for cell in below for word in cell.split()}
    return len(words) > 1 and len(known) <= MOST_WORDS and known.issuperset(words)


def _smallest_width(rows: Sequence[Sequence[str]]) -> int:
    """The smallest number of cells that several rows have, of a file without a header."""
    widths = Counter(len(row) for row in rows if len(row) > 1)
    return min((width for width, count in widths.items() if count >= SHARE_OF_ROWS * len(rows)), default=0)


def _run_on_column(rows: Sequence[Sequence[str]], width: int) -> int | None:
    """The column whose text contains the delimiter, in rows that should have `width` cells.

    None where hardly any row is longer (they are faults), and where not exactly one column leaves the others what they
    are in all rows: classes, numbers, or single words.
    """
    long_enough = [row for row in rows if len(row) >= width]
    longer = sum(len(row) > width for row in long_enough)
    if width < 2 or len(long_enough) < FEWEST_ROWS or longer < max(FEW_LONGER, LONGER * len(long_enough)):
        return None
    fitting = [
        place for place in range(width) if _runs_on([joined(row, place, width, ",") for row in long_enough], place)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _runs_on(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether the column with index `place` holds texts, and no other one does."""
    columns = [[cell.strip() for cell in cells] for cells in zip(*rows, strict=True)]
    texts = sum(len(cell.split()) for cell in columns.pop(place)) >= 2 * len(rows)
    return texts and all(map(_is_plain, columns))


def _is_plain(cells: Sequence[str]) -> bool:
    few = len(set(cells)) <= max(2, min(CLASSES, 0.2 * len(cells)))
    words = sum(" " not in cell for cell in cells) >= 0.98 * len(cells)
    return few or words or all(map(NUMBER.fullmatch, cells))
