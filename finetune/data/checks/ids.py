"""Checks of ids: long numbers that a spreadsheet has rounded."""

from collections.abc import Iterator

from finetune.data.checks.findings import Finding, shown
from finetune.data.checks.part import Part
from finetune.data.kinds import RUINED, as_text

OFTEN = 0.5  # share of a column's filled cells


def ruined_ids(part: Part) -> Iterator[Finding]:
    """Columns of numbers such as 1.23457E+17: other rows may have the same now."""
    for name, cells in part.table.columns.items():
        filled = [(index, text) for index, cell in enumerate(cells) if (text := as_text(cell).strip())]
        ruined = [index for index, text in filled if RUINED.fullmatch(text)]
        if ruined and len(ruined) >= OFTEN * len(filled):
            example = shown(as_text(cells[ruined[0]]))
            what = f"the ids in the column {shown(name)} were rounded by a spreadsheet, such as {example}"
            yield part.found("warning", "ruined-id", what, "Export that column as text; do not group by it", ruined)
