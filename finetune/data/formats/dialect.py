"""The dialect of a delimited text: how its lines are split into cells, and how that is detected."""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Literal

from finetune.data.messages import noun, so_many
from finetune.data.open_files import CR_WITHIN_LINE
from finetune.data.values import NUMBER, as_text
from finetune.data.words.lists import word_list

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}

MOST_WORDS = 50  # that cells of tags are made of
SHARE_OF_CELLS = 0.8
LONGEST_NAME = 3  # words of a column's name
FEWEST_WIDER = 3  # rows that single quotes must put right
MOST_ABOVE = 10  # lines that may be above the header
ASIDE = "\ufdd0"  # for a carriage return within a line: a sign that no text has
QUOTED_LINE = re.compile(r'\s*"([^"]|"")*"\s*')

csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How lines are split into cells; with an empty `delimiter` each line is one cell.

    `skip` lines are above the header. `indexed`: rows start with a cell that has no name in the header. `names` are the
    columns of a file without header, where they are known.
    """

    delimiter: str
    quoted: bool
    quote: str = '"'
    header: bool = True
    indexed: bool = False
    skip: int = 0
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        single = " in single quotes" if self.quote == "'" else ""
        parts = [f"{DELIMITERS[self.delimiter]}-separated" if self.delimiter else "one column"]
        parts += [f"cells may be quoted{single}" if self.quoted else "quotes are part of the text"]
        names = f": columns {', '.join(self.names)}, as in training" if self.names else ""
        parts += [] if self.header else [f"no header{names}"]
        parts += ["the first column has no name"] if self.indexed else []
        above = f"{so_many(self.skip, 'line')} above the header {noun(self.skip, 'is', 'are')} not read"
        parts += [above] if self.skip else []
        return ", ".join(parts)


ONE_COLUMN = Dialect(delimiter="", quoted=False, header=False)


def split_rows(text: str, delimiter: str, *, quoted: bool, quote: str = '"') -> list[list[str]]:
    """The cells of each row of a text that is not empty."""
    return list(filter(None, csv_reader(io.StringIO(text, newline=""), delimiter, quoted=quoted, quote=quote)))


def csv_reader(
    lines: Iterable[str], delimiter: str, *, quoted: bool, quote: str = '"', strict: bool = False
) -> Iterator[list[str]]:
    """Yields each row's fields; without a delimiter a line is one field. `strict` raises csv.Error for bad quotes.

    A carriage return within a line is part of a field. Another sign stands for it, since csv.reader would end the row.
    """
    separator = delimiter or "\x1f"
    if not quoted:
        return (text.split(separator) if (text := line.rstrip("\r\n")) else [] for line in lines)
    put_aside = (CR_WITHIN_LINE.sub(ASIDE, line) if "\r" in line else line for line in lines)
    rows = csv.reader(put_aside, delimiter=separator, quotechar=quote, strict=strict)
    return ([cell.replace(ASIDE, "\r") if ASIDE in cell else cell for cell in cells] for cells in rows)


def find_dialect(text: str, suffix: str) -> Dialect:
    """Detects the dialect of a text from a file with this suffix."""
    lines = list(io.StringIO(text, newline=""))
    skip = _lines_above([line.rstrip("\r\n") for line in lines[: MOST_ABOVE + 40]])
    if skip:
        return replace(find_dialect("".join(lines[skip:]), suffix), skip=skip)
    delimiter, quote = _delimiter(text, suffix)
    quoted, quote = bool(quote), quote or '"'
    rows = split_rows(text, delimiter, quoted=quoted, quote=quote)
    header = _has_header(rows[:500])
    below = rows[1:-1]  # the last may be cut
    indexes = {cells[0].strip() for cells in below if len(cells) == len(rows[0]) + 1}
    indexed = header and 0 < len(below) == len(indexes) and not any(" " in index for index in indexes)
    return Dialect(delimiter=delimiter, quoted=quoted, quote=quote, header=header, indexed=indexed)


def are_rows(text: str) -> bool:
    """Whether one of the delimiters splits nearly all lines into the same number of cells."""
    widths = (_usual_width(split_rows(text, sign, quoted=quoted)) for sign in DELIMITERS for quoted in (True, False))
    return any(width > 1 and share >= 0.95 for width, share in widths)


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[int, float]:
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return width, count / len(rows)


def _lines_above(lines: Sequence[str]) -> int:
    """Counts the lines above the header: `sep=;`, comments (#), or a title, alone or with empty cells after it.

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
    titles = []
    for sign in DELIMITERS:
        title = next((n for n, line in enumerate(lines) if sum(map(bool, map(str.strip, line.split(sign)))) > 1), 0)
        title += is_group_line([line.split(sign) for line in lines[title:-1]])
        same = title > 0 and len({line.count(sign) for line in lines[:-1]}) == 1 and sign in lines[0]
        alone = not any(sign in line for line in lines[:title]) and _is_table(lines[title:-1], sign)
        titles += [title] * ((same or alone) and title <= MOST_ABOVE and len(lines) > title + 4)
    return min(titles, default=0)


def _is_table(lines: Sequence[str], sign: str) -> bool:
    """Whether the first line has short names of columns, and all others as many cells; the last row may be cut.

    Texts may have a comma each: two columns need the name of a text.
    """
    first, *rows = split_rows("\n".join(lines), sign, quoted=True) or [[]]
    names = [cell.strip() for cell in first]
    short = all(len(name.split()) <= LONGEST_NAME for name in names) and len({*names}) == len(names) > 1
    named = short and (len(names) > 2 or is_header_of_texts(first, rows)) and _has_header([first, *rows])
    return named and {*map(len, rows[:-1])} == {len(names)}


def is_group_line(rows: Sequence[Sequence[object]]) -> bool:
    """Whether the first row names groups of columns (it has empty or equal cells) and the second row the columns, with
    numbers below one of them.
    """
    width = max((place for cells in rows[1:2] for place, cell in enumerate(cells, start=1) if as_text(cell)), default=0)
    first, names, *below = [[as_text(cell).strip() for cell in cells[:width]] for cells in rows] + [[], []]
    named = all(names) and len({*names}) == len(names) and not any(map(NUMBER.fullmatch, names))
    if not named or (all(first) and len({*first}) == len(first)):
        return False
    columns = zip_longest(*below, fillvalue="")
    return any(any(cells) and all(NUMBER.fullmatch(cell) or not cell for cell in cells) for cells in columns)


def _delimiter(text: str, suffix: str) -> tuple[str, str]:
    """The delimiter, and the quotes that enclose cells, if any do: those that give the most rows one number of cells.

    Quotes that would join lines which are complete rows are part of the texts. Single quotes enclose cells only where
    all rows have one number of cells with them, and several have not without them.
    """
    lines = text.splitlines()
    if '"' in text and all(QUOTED_LINE.fullmatch(line) for line in lines[:-1] or lines if line.strip()):
        return "", '"'
    proper_commas = '"' in text and _proper_quotes(text, ",", '"')
    preferred = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(suffix, "")
    alone = "", '"' if proper_commas else ""
    quotes = [*(["'"] if "'" in text and not proper_commas else []), '"', *([""] if '"' in text else [])]
    best, choice = (0.0, False, False, False), alone
    for delimiter, quote in product(filter(text.__contains__, DELIMITERS), quotes):
        rows = split_rows(text, delimiter, quoted=bool(quote), quote=quote or '"')
        width, share = _usual_width(rows)
        if width < 2 or (quote == "'" and (share < 0.98 or not _is_wider(rows, text, delimiter))):
            continue
        proper = not quote or (_proper_quotes(text, delimiter, quote) and not _joins_rows(rows, text, delimiter))
        widths = [len(cells) for cells in rows]
        first = widths[0] == width or (widths[0] == width - 1 and {*widths[1:]} == {width})  # else texts contain it
        sign = re.escape(delimiter)
        decimal = not re.search(rf"(?<!\d){sign}|{sign}(?!\d)", text)
        score = round(share, 2) - 0.3 * (not proper) - 0.6 * (not first) - 0.2 * decimal
        rank = (score, delimiter == "\t", delimiter == preferred, bool(quote))  # texts hold commas rather than tabs
        if rank > best:
            best, choice = rank, (delimiter, quote)
    if best[0] >= 0.5:
        return choice
    return (preferred, choice[1]) if preferred and preferred in text.partition("\n")[0] else alone


def _is_wider(rows: Sequence[Sequence[str]], text: str, delimiter: str) -> bool:
    """Whether single quotes give several rows the usual number of cells that have not got it without them."""
    (_, share), plain = _usual_width(rows), split_rows(text, delimiter, quoted=True)
    return share * len(rows) >= _usual_width(plain)[1] * len(plain) + FEWEST_WIDER


def _joins_rows(rows: Sequence[Sequence[str]], text: str, delimiter: str) -> bool:
    """Whether quotes join lines into these rows that are tab-separated rows of one width without them."""
    plain = split_rows(text, "\t", quoted=False) if delimiter == "\t" else []
    width, share = _usual_width(plain) if plain else (0, 0.0)
    return width > 1 and share >= 0.99 and len(rows) < len(plain)


def _proper_quotes(text: str, delimiter: str, quote: str) -> bool:
    """Whether cells that begin with a quote also end with one, in nearly all rows."""
    edge, lines = re.escape(delimiter), re.sub(r"\r\n?", "\n", text)
    enclosed = rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}"
    cells = re.findall(rf"(?:^|{edge})({enclosed}(?=$|{edge})|{quote}[^{quote}\n]*)", lines, flags=re.MULTILINE)
    whole = sum(len(cell) > 1 and cell.endswith(quote) for cell in cells)
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
    if is_header_of_texts(first, rest):
        return True  # even where a label or a text is the name of its column
    columns = [[cells[place].strip() for cells in rest if cells[place].strip()] for place in range(len(first))]
    roles = {*map(_role, first, columns)}
    return "number" not in roles and ("name" in roles or "value" not in roles)


def _role(cell: str, below: Sequence[str]) -> Literal["number", "name", "value", ""]:
    """What the first cell of a column is: a number above numbers; a word that is none of the values, which all recur;
    or one of the values, or made of a few words as they are, as tags of words are.
    """
    name, counts = cell.strip(), Counter(below)
    if not below:
        return ""
    if NUMBER.fullmatch(name) and sum(map(bool, map(NUMBER.fullmatch, below))) > 0.9 * len(below):
        return "number"
    if name.isidentifier() and name not in counts and min(counts.values()) > 1:
        return "name"
    parts, words = name.split(), {word for value in counts for word in value.split()}
    of_words = len(parts) > 1 and len(words) <= MOST_WORDS and words.issuperset(parts)
    return "value" if of_words or (name in counts and len(counts) <= 0.7 * len(below)) else ""


def is_header_of_texts(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has the usual name of a text, or numbers of columns from 0, over texts."""
    names = [cell.strip().casefold() for cell in first]
    numbers = names[names[0] == "" :]  # pandas gives its index no name
    counted = len(names) > 1 and numbers == list(map(str, range(len(numbers))))
    text_words = {*word_list("text"), *word_list("text_weak")}
    texts = [column for column, name in enumerate(names) if counted or {name, name.removesuffix("s")} & text_words]
    return any(sum(" " in row[column] for row in rest) > SHARE_OF_CELLS * len(rest) for column in texts)
