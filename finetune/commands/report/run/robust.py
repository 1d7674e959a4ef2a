"""The predictions that flip when dev rows are changed in ways that keep their label; not among the errors."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block, ShownRow, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import NAME
from finetune.inference.robust.flips import COLUMNS, Flip, KindFlips
from finetune.task_types.marked_text import AROUND, Segment, TextPart, clean, cut

ORDER = 55
LISTED = 5  # flips of a kind


def blocks(run: RunFiles) -> Iterator[Block]:
    """A line a kind of change, and the first rows of each that flip; none where it was not asked for."""
    found = run.robust
    if found is None:
        return
    yield Block(
        title="Changed rows",
        note=f"Rows of {found.split} with one change that keeps the label: the share of predictions that flip. They "
        "count in no score.",
        table=TableBlock(columns=list(COLUMNS), rows=found.lines),
        wide=True,
    )
    rows = [_row(one, flip) for one in found.kinds for flip in one.flips[:LISTED]]
    if rows:
        note = f"The change is marked, with what was there before. Up to {LISTED} rows a kind."
        yield Block(title="Predictions that flip", note=note, shown=rows, wide=True)


def _row(one: KindFlips, flip: Flip) -> ShownRow:
    where = flip.where
    before, after = (cut(str(value)) for value in (flip.before, flip.after))
    return ShownRow(
        id=cut(str(where.row.id), NAME), parts=[_part(flip)], right=None,
        facts=[
            one.kind.name,
            f"{before} becomes {after}" if len(before + after) < 100 else "another prediction",
        ],
    )  # fmt: skip


def _part(flip: Flip) -> TextPart:
    """The changed text around the change."""
    where = flip.where
    edit, text = where.edit, where.text
    old = text[edit.start : edit.end]
    before, after = text[: edit.start], text[edit.end :]
    was = f"was “{clean(old)}”" if old else "added"
    return TextPart(
        name=where.name,
        segments=[
            Segment(text=clean("…" * (len(before) > AROUND) + before[-AROUND:])),
            Segment(text=clean(edit.new) or "∅", mark="changed", label=was),
            Segment(text=clean(after[:AROUND] + "…" * (len(after) > AROUND))),
        ],
    )
