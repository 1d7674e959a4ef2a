"""A table of results: as it is printed, and written as Markdown or CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from finetune.data.outputs import output_file, require_replaceable_output
from finetune.gone import gone

TABLE_FILES = (".md", ".csv")
Cells = Sequence[object]  # of a row


@dataclass(frozen=True, kw_only=True)
class Form:
    """A table: for each row its cells by heading, notes below it, and for files the runs `behind` it.

    The first `left` columns are not numbers; with `grouped`, rows with the same first cell belong together, and that
    cell is their title. `numbers` are the rows of a CSV file, and `option` is what the command has that chooses this
    form.
    """

    title: str
    cells: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    behind: Sequence[str]
    left: int
    numbers: Sequence[Mapping[str, Any]] = ()
    option: str = ""
    grouped: bool = False

    @property
    def header(self) -> list[str]:
        """The headings."""
        return list(self.cells[0]) if self.cells else []

    @property
    def rows(self) -> list[list[str]]:
        """The cells of each row."""
        return [list(row.values()) for row in self.cells]

    @property
    def groups(self) -> list[tuple[str, list[list[str]]]]:
        """(title, rows without it) of each group of rows."""
        return [(title, [row[1:] for row in rows]) for title, rows in groupby(self.rows, key=lambda row: row[0])]

    @property
    def csv(self) -> str:
        """The numbers as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.numbers[0]) if self.numbers else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.numbers)
        return out.getvalue()

    def markdown(self, made: str) -> str:
        """A Markdown page, with the command that `made` it in a comment, and below the table its notes and runs."""
        below = "\n".join(f"- {text}" for text in (*self.notes, *self.behind))
        return f"<!-- Generated: {made} -->\n# {self.title}\n\n{markdown_table(self.header, self.rows)}\n\n{below}\n"

    def write(self, file: Path, *, made: str, reads: str, force: bool) -> Path:
        """Writes CSV or Markdown, by the suffix of the file, which it returns.

        Raises UserError as `require_table_file` does.
        """
        require_table_file(file, reads=reads, force=force)
        text = self.csv if file.suffix.lower() == ".csv" else self.markdown(made)
        with output_file(file, remedy="Name another file") as scratch:
            scratch.write_text(text, encoding="utf-8")
        return file


def markdown_table(head: Cells, rows: Sequence[Cells]) -> str:
    """A Markdown table; a cell may be any value."""
    first, *others = (" | ".join(str(cell).replace("|", "\\|") for cell in cells) for cells in (head, *rows))
    return "\n".join([f"| {first} |", f"{'|---' * len(head)}|", *(f"| {line} |" for line in others)])


def require_table_file(file: Path, *, reads: str, force: bool) -> None:
    """Raises UserError for a suffix that is not one of TABLE_FILES, and for a file that is there and not ours."""
    if taken_out := gone(file.suffix.lower()):
        raise taken_out
    require_replaceable_output(file, endings=TABLE_FILES, reads=[reads], force=force)
