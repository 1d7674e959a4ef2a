"""A and B compared, where the page has two groups of seeds of one task."""

from collections.abc import Iterator, Sequence

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.comparison import sentence
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.run_files import RunFiles
from finetune.runs.seeds import differing_settings
from finetune.task_types.marked_text import cut

ORDER = 10


def blocks(page: PageRuns) -> Iterator[Block]:
    """A table of the metrics, and how the settings differ, if there is a comparison."""
    if (found := page.comparison) is None:
        return
    yield Block(title="A and B", table=_sides(*page.groups))
    notes = " ".join(f"{note[:1].upper()}{note[1:]}." for note in found.notes)
    yield Block(
        title="Difference",
        note=f"{sentence(found)} {found.counted} of {found.split}. {found.tests} {notes}".rstrip(),
        table=TableBlock(columns=found.columns, rows=found.cells, strong=[0]),
    )


def _sides(a: Sequence[RunFiles], b: Sequence[RunFiles]) -> TableBlock:
    """The runs of each side, and the settings that differ."""
    settings = differing_settings([a[0].record, b[0].record])
    keys = list(dict.fromkeys(key for one in settings for key in one))
    rows = [["runs", *(", ".join(one.record.id for one in side) for side in (a, b))]]
    rows += [[key, *(cut(str(one.get(key, "–"))) for one in settings)] for key in keys]
    return TableBlock(columns=["", "A", "B"], rows=rows, left=3)
