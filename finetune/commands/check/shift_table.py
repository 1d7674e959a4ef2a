"""What `finetune check RUN FILE` prints: a table of what was compared, the farthest rows, notes and the verdict."""

from typing import TYPE_CHECKING

from finetune.cli.options import note_line
from finetune.cli.tables import Column, FittedTable
from finetune.cli.terminal import one_line
from finetune.data.messages import so_many

if TYPE_CHECKING:
    from finetune.commands.check.shift import ShiftReport


def shift_lines(found: "ShiftReport") -> list[str]:
    """The farthest rows where something has changed, notes, and the verdict."""
    far = [f"far away ({one.distance:.1f} times): row {one.row}, line {one.line}: {one.text}" for one in found.farthest]
    return [*(far if found.shifted else []), *map(note_line, found.notes), f"{found.file}: {found.verdict}"]


def shift_table(found: "ShiftReport") -> FittedTable:
    """What was compared: its p value, and how it was and is."""
    rows = [
        (change.name, "changed" if change.name in found.shifted else "", f"{change.p:.3f}", change.was, change.now)
        for change in found.changes
    ]
    words = {"was", "is"}
    heads = [Column(name=name, words=name in words) for name in ("", "", "p", "was", "is")]
    title = f"{found.file}: {so_many(found.rows)} next to {found.reference} of dev"
    return FittedTable(title=one_line(title), columns=heads, rows=rows)
