"""Tables of the terminal, in which nothing is cut: where the columns do not fit its width, a row is `name: value`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rich import table as rich_table
from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from finetune.cli.terminal import one_line, printable

if TYPE_CHECKING:
    from finetune.analysis.form import Form
    from finetune.task_types.columns import Layout

LEAST_TEXT = 16  # characters of a column of words
WORDS = ("runs", "published dev", "verdict", "published test", "settings", "against baseline", "encoder", "data")

JUSTIFY: dict[bool, Literal["left", "right"]] = {False: "left", True: "right"}

TextCell = str | Text
CellRow = Sequence[TextCell]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its heading, whether it is aligned to the right, and whether its `words` may be wrapped."""

    name: str
    right: bool = False
    words: bool = False


@dataclass(frozen=True, kw_only=True)
class FittedTable:
    """Rows of cells under headings; columns without a cell are left out, except the first.

    Without `headed` the first cell of a row names it. `ruled` separates rows by lines. `notes` are printed below.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[CellRow]
    notes: Sequence[str] = ()
    headed: bool = True
    ruled: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, with control characters escaped."""
        rows = [[cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row] for row in self.rows]
        filled = [at for at in range(len(self.columns)) if at == 0 or any(row[at].plain for row in rows)]
        columns, rows = [self.columns[at] for at in filled], [[row[at] for at in filled] for row in rows]
        if self.title:
            yield Text(one_line(self.title), style="table.title", overflow="fold")
        if self._width(columns, rows) <= options.max_width:
            table = rich_table.Table(box=HEAVY_HEAD, show_header=self.headed, show_lines=self.ruled)
            for column in columns:
                heading, justify = Text(one_line(column.name)), JUSTIFY[column.right]
                table.add_column(heading, justify=justify, no_wrap=not column.words, overflow="fold")
            for row in rows:
                table.add_row(*row)
            yield table
        else:
            yield from self._listed(columns, rows)
        for note in self.notes:
            yield Text(printable(note), style="table.caption", overflow="fold")

    def _width(self, columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> int:
        """The least width of the table."""
        width = 3 * len(columns) + 1
        for at, column in enumerate(columns):
            widest = max((cell_len(line) for row in rows for line in row[at].plain.splitlines()), default=0)
            heading = cell_len(column.name) if self.headed else 0
            width += min(max(widest, heading), LEAST_TEXT) if column.words else max(widest, heading)
        return width

    def _listed(self, columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
        """Each row on a line, which goes on in the next ones where it is too long."""
        for row in rows:
            names, cells = [column.name for column in columns], [cell.plain for cell in row]
            if not self.headed:
                names, cells = [cells[0]] * (len(cells) - 1), cells[1:]
            pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell]
            yield Text(one_line("  ".join(pairs)), overflow="fold")


def fitted_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[CellRow],
    *,
    right: Collection[str] = (),
    words: Collection[str] = WORDS,
    **how: Any,
) -> FittedTable:
    """A table of rows under headings; `how` are fields of the table."""
    columns = [Column(name=name, right=name in right, words=name in words) for name in headings]
    return FittedTable(title=title, columns=columns, rows=rows, **how)


def table_from_cells(title: str, rows: Sequence[Mapping[str, TextCell]], **how: Any) -> FittedTable:
    """A table of rows with cells by heading; `how` as of `fitted_table`."""
    return fitted_table(title, [*next(iter(rows), ())], [tuple(row.values()) for row in rows], **how)


def as_table(form: "Form") -> FittedTable:
    """A form of results; the title of a group is in its first row."""
    rows = form.rows
    if form.grouped:
        rows = [[title * (not at), *row] for title, group in form.groups for at, row in enumerate(group)]
    return fitted_table(form.title, form.header, rows, right=form.header[form.left :], notes=form.notes)


def layout_table(layout: "Layout") -> FittedTable:
    """The meaning of each column of the user's data, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": layout.text_setting.replace(",", ", ") if layout.rest else ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "labels": ", ".join(layout.names.values()) if layout.by_position else "",
        "order": " < ".join(layout.order),
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in given.items() if value]
    words = Column(name="", words=True)
    return FittedTable(title="layout", columns=[Column(name=""), words, words], rows=rows, headed=False)
