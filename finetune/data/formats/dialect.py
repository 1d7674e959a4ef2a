"""The dialect of a delimited text: how its lines are split into cells."""

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from finetune.data.messages import noun, so_many

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}

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


def split_rows(text: str, delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    """The fields of each row of a complete text."""
    return csv_reader(io.StringIO(text, newline=""), delimiter, quoted=quoted)


def csv_reader(
    lines: Iterable[str], delimiter: str, *, quoted: bool, quote: str = '"', strict: bool = False
) -> Iterator[list[str]]:
    """Yields each row's fields; without a delimiter a line is one field. `strict` raises csv.Error for bad quotes."""
    separator = delimiter or "\x1f"
    if not quoted:  # csv.reader would refuse a carriage return within a line
        return (text.split(separator) if (text := line.rstrip("\r\n")) else [] for line in lines)
    return csv.reader(lines, delimiter=separator, quotechar=quote, strict=strict)


def joined(cells: Sequence[str], place: int, width: int, delimiter: str) -> list[str]:
    """The cells of a row, with those joined that belong to the column with index `place`."""
    end = place + len(cells) - width + 1
    return [*cells[:place], delimiter.join(cells[place:end]), *cells[end:]]
