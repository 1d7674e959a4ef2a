"""A table as it is printed, and written as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from finetune.data.outputs import require_replaceable_output
from finetune.gone import gone

TABLE_FILES = (".md", ".csv")
Cells = Sequence[object]  # of a row


@dataclass(frozen=True, kw_only=True)
class Form:
    """A table as it is printed: headings, cells, notes below it, and for files the runs `behind` it.

    `option` is that of the command that chooses this form. The first `left` columns are not numbers; with `grouped`,
    rows with the same first cell belong together.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    behind: Sequence[str]
    left: int
    option: str = ""
    grouped: bool = False

    @property
    def headings(self) -> Sequence[str]:
        """The headings without that of the groups' titles."""
        return self.header[1:] if self.grouped else self.header

    def groups(self) -> list[tuple[str, list[Sequence[str]]]]:
        """(title, rows) of rows that belong together, without the cell that is their title; else all under no title."""
        if not self.grouped:
            return [("", list(self.rows))]
        return [(title, [row[1:] for row in some]) for title, some in groupby(self.rows, key=lambda row: row[0])]


def markdown_page(form: Form, *, made: str) -> str:
    """A Markdown page, with the command that `made` it in a comment, and below the table its notes and runs."""
    below = "\n".join(f"- {text}" for text in (*form.notes, *form.behind))
    return f"<!-- Generated: {made} -->\n# {form.title}\n\n{markdown_table(form.header, form.rows)}\n\n{below}\n"


def markdown_table(head: Cells, rows: Sequence[Cells]) -> str:
    """A Markdown table; a cell may be any value."""
    first, *others = (" | ".join(str(cell).replace("|", "\\|") for cell in cells) for cells in (head, *rows))
    return "\n".join([f"| {first} |", f"{'|---' * len(head)}|", *(f"| {line} |" for line in others)])


def require_table_file(file: Path, *, reads: Sequence[str], force: bool) -> None:
    """Raises UserError for a suffix that is not one of TABLE_FILES, and for a file that is there and not ours."""
    if taken_out := gone(file.suffix.lower()):
        raise taken_out
    require_replaceable_output(file, endings=TABLE_FILES, reads=reads, force=force)
