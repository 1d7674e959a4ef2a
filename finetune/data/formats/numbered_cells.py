"""Reads rows of delimited text so that an unclosed quote does not swallow the following rows."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from finetune.data.formats.dialect import Dialect, csv_reader, joined
from finetune.data.issues import CELLS, QUOTE, Finding

MOST_LINES = 1 << 20  # of a cell
RULE = re.compile(":?-[-: ]*")  # between the header and the rows of a Markdown table
MOST_IN_CELL = 1 << 26  # most characters of a cell over several lines: with more, its quote was not closed


def numbered_cells(
    file: Iterable[str], dialect: Dialect, *, width: int
) -> Iterator[tuple[int, list[str], Finding | None]]:
    """(line, cells, fault) of every row; an empty line has neither cells nor a fault.

    Where a quote is never closed, only its own line is a fault, and reading continues after it.
    """
    lines = _Lines(file)
    while True:
        reader = csv_reader(lines, dialect.delimiter, quoted=dialect.quoted, quote=dialect.quote)
        for cells in reader:
            if lines.ended or (len(lines.taken) > 1 and not _ends_well(lines.taken, dialect, cells, width)):
                number, _ = lines.give_back()
                yield number, [], Finding(QUOTE, "a quote opens in it and is not closed")
                break
            number = lines.taken[0][0]
            lines.clear()
            if dialect.delimiter == "|" and cells and RULE.fullmatch("".join(cells).strip()):
                continue
            if not cells or (cells == [""] and width > 1):  # of a single column `""` is a row
                yield number, [], None
                continue
            if dialect.run_on is not None and len(cells) > width:
                cells = joined(cells, dialect.run_on, width, dialect.delimiter)
            fault = None if len(cells) == width else Finding(CELLS, _wrong_width(cells, width, dialect))
            yield number, cells, fault
        else:
            return


def _wrong_width(cells: Sequence[str], width: int, dialect: Dialect) -> str:
    """`expected 3 cells, as in the header, found 4`, and the cell where the text probably continues."""
    what = f"expected {width} cells, as in the {'header' if dialect.header else 'first row'}, found {len(cells)}"
    if len(cells) < width:
        return what
    at = next((cell.strip() for cell in cells[1:] if cell[:1] == " "), cells[width - 1].strip())
    return f"{what}: a cell that holds the delimiter needs quotes, perhaps around '...{dialect.delimiter} {at[:20]}'"


def _ends_well(taken: Sequence[tuple[int, str]], dialect: Dialect, cells: Sequence[str], width: int) -> bool:
    """Whether lines make one row, with a delimiter or the end of the line after each closing quote.

    If not, the closing quote is the next row's opening one.
    """
    if len(cells) != width:
        return False
    try:
        list(csv_reader((line for _, line in taken), dialect.delimiter, quoted=True, quote=dialect.quote, strict=True))
    except csv.Error:
        return False
    return True


class _Lines:
    """Numbered lines that a csv reader consumes one by one, and that can be put back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.coming = enumerate(lines, start=1)
        self.returned: deque[tuple[int, str]] = deque()
        self.taken: list[tuple[int, str]] = []
        self.size = 0
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        while self.size <= MOST_IN_CELL and len(self.taken) <= MOST_LINES:
            following = self.returned.popleft() if self.returned else next(self.coming, None)
            if following is None:
                break
            self.taken.append(following)
            self.size += len(following[1])
            yield following[1]
        self.ended = True

    def give_back(self) -> tuple[int, str]:
        """Puts back all lines taken but the first, which it returns."""
        self.returned.extendleft(reversed(self.taken[1:]))
        first = self.taken[0]
        self.clear()
        return first

    def clear(self) -> None:
        """Forgets the lines taken: their row is complete."""
        self.taken, self.size, self.ended = [], 0, False
