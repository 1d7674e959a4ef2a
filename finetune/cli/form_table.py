"""A form of results for the terminal."""

from finetune.analysis.pages.form import Form
from finetune.cli.fitted_table import CellRow, Column, FittedTable
from finetune.cli.run_tables import short_model

# columns whose cells may be wrapped
WORDS = ("runs", "published dev", "verdict", "published test", "settings", "against baseline")
NAMES = ("model", "system")


def as_table(form: Form) -> FittedTable:
    """For the terminal; groups of rows are below their titles."""
    headings = [
        Column(
            name=name,
            right=number >= form.left,
            words=name in WORDS,
            names=name in NAMES,
            short=short_model if name in NAMES else None,
        )
        for number, name in enumerate(form.header)
    ]
    rows: list[CellRow | str] = list(form.rows)
    if form.grouped:
        headings = headings[1:]
        rows = [line for title, some in form.groups() for line in (title, *some)]
    return FittedTable(title=form.title, columns=headings, rows=rows, notes=form.notes)
