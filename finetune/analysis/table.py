"""The table of results, for the terminal, Markdown, CSV and DataFrames; and the other parts of a command's output."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.atomic import output_file, require_replaceable_output
from finetune.gone import gone

if TYPE_CHECKING:
    import pandas as pd

TABLE_FILES = (".md", ".csv")
WORDS = ("runs", "published dev", "verdict", "published test", "settings", "against baseline", "encoder", "data")
Cells = Sequence[object]  # of a row


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """Rows of cells under the headings `columns`, with notes below.

    Columns in `right` are aligned to the right, columns in `words` may be wrapped. Without `headed` the first cell of a
    row names it, `ruled` separates rows by lines, and rows whose number is in `bold` are bold. With `grouped`, rows
    with the same first cell belong together, and that cell is their title. Files have the runs `behind` the rows.
    `numbers` are the rows of CSV and DataFrame, and `option` is the command's option for this table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    right: Collection[str] = ()
    words: Collection[str] = WORDS
    headed: bool = True
    ruled: bool = False
    bold: Collection[int] = ()
    grouped: bool = False
    behind: Sequence[str] = ()
    numbers: Sequence[Mapping[str, Any]] = ()
    option: str = ""

    @classmethod
    def of_cells(
        cls, title: str, cells: Sequence[Mapping[str, str]], *, left: int | None = None, **how: Any
    ) -> "TextTable":
        """A table of rows with cells by heading; the first `left` columns are not numbers, and `how` are fields."""
        columns = list(cells[0]) if cells else []
        if left is not None:
            how["right"] = columns[left:]
        return cls(title=title, columns=columns, rows=[list(row.values()) for row in cells], **how)

    @property
    def groups(self) -> list[tuple[str, list[list[str]]]]:
        """(title, rows without the title) of each group of rows."""
        grouped = groupby(self.rows, key=lambda row: row[0])
        return [(title, [list(row[1:]) for row in rows]) for title, rows in grouped]

    @property
    def frame(self) -> "pd.DataFrame":
        """The numbers, a row for each."""
        import pandas as pd

        return pd.DataFrame(self.numbers)

    @property
    def csv(self) -> str:
        """The numbers as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.numbers[0]) if self.numbers else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.numbers)
        return out.getvalue()

    def markdown(self, made: str) -> str:
        """A Markdown page: a comment with the command that `made` it, the table, and its notes and runs."""
        below = "\n".join(f"- {text}" for text in (*self.notes, *self.behind))
        return f"<!-- Generated: {made} -->\n# {self.title}\n\n{markdown_table(self.columns, self.rows)}\n\n{below}\n"

    def write(self, file: Path, *, made: str, reads: str, force: bool) -> Path:
        """Writes CSV or Markdown, by the suffix of the file, which it returns.

        Raises UserError as `require_table_file` does.
        """
        require_table_file(file, reads=reads, force=force)
        text = self.csv if file.suffix.lower() == ".csv" else self.markdown(made)
        with output_file(file, remedy="Name another file") as scratch:
            scratch.write_text(text, encoding="utf-8")
        return file


@dataclass(frozen=True)
class Line:
    """A line of the terminal, even if its text has newlines; its first `styled` characters, or all, have a style."""

    text: str
    style: str = ""
    styled: int | None = None


@dataclass(frozen=True)
class NoteLine:
    """A note, printed once; `aside` on standard error, since programs read the output."""

    text: str
    aside: bool = False


@dataclass(frozen=True)
class Command:
    """A command to paste, by its words after `finetune`; the options of the current one (`--out`) are added."""

    words: Sequence[str]


@dataclass(frozen=True)
class Next:
    """The next commands, one a line. On a terminal alone, unless `piped`: other programs read results."""

    commands: Sequence[Sequence[str]]
    piped: bool = False


Part = str | TextTable | Line | NoteLine | Command | Next  # of a command's output; a string is sentences for a person


def facts_table(title: str, facts: Mapping[str, Any]) -> TextTable:
    """A table with a line for each fact that is not empty."""
    rows = [(name, as_plain_text(value)) for name, value in facts.items() if value not in (None, [], {})]
    return TextTable(title=title, columns=["", "value"], rows=rows, words=["value"], headed=False)


def as_plain_text(value: Any) -> str:
    """A value as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {as_plain_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(as_plain_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def markdown_table(head: Cells, rows: Sequence[Cells]) -> str:
    """A Markdown table; a cell may be any value."""
    first, *others = (" | ".join(str(cell).replace("|", "\\|") for cell in cells) for cells in (head, *rows))
    return "\n".join([f"| {first} |", f"{'|---' * len(head)}|", *(f"| {line} |" for line in others)])


def require_table_file(file: Path, *, reads: str, force: bool) -> None:
    """Raises UserError for a suffix that is not in TABLE_FILES, and for an existing file that is not ours."""
    if taken_out := gone(file.suffix.lower()):
        raise taken_out
    require_replaceable_output(file, endings=TABLE_FILES, reads=[reads], force=force)
