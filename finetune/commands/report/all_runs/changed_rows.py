"""The rows that only one of A and B has right."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from finetune.analysis.comparison import Changed, Comparison
from finetune.commands.report.blocks import Block, ShownRow
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.run_files import RunFiles, view_of_run
from finetune.commands.report.text import NAME, shown_of
from finetune.data.messages import so_many
from finetune.task_types.marked_text import cut
from finetune.task_types.view import View

ORDER = 18
ROWS_SHOWN = 20


def blocks(page: PageRuns) -> Iterator[Block]:
    """At most ROWS_SHOWN rows, where A and B are compared and some rows changed."""
    if page.comparison is not None and page.comparison.changed:
        yield _changed(page.groups[0], page.groups[1], page.comparison)


def _changed(a: Sequence[RunFiles], b: Sequence[RunFiles], found: Comparison) -> Block:
    """Rows that only one side's first run has right: those first on which the other is most confident."""
    sides = {side: view_of_run(one[0], found.split) for side, one in (("a", a), ("b", b))}
    sure = {side: _certainties(view) for side, view in sides.items()}

    def confidence(one: Changed) -> float:
        return sure["b" if one.better == "a" else "a"].get(str(one.row["id"]), -np.inf)

    better = {
        side: sorted((one for one in found.changed if one.better == side), key=confidence, reverse=True)
        for side in sides
    }
    half = ROWS_SHOWN // 2
    shown = [*better["a"][:half], *better["b"][: ROWS_SHOWN - min(half, len(better["a"]))]]
    first = " (of each side's first run)" if len(a) > 1 or len(b) > 1 else ""
    note = (
        f"{so_many(len(better['a']))} that only A has right, {len(better['b']):,} that only B has right{first}; those "
        f"first on which the other is most confident. {shown_of(len(shown), len(found.changed), 'rows')}"
    )
    view = sides["a"]
    lines = {} if view is None else {str(line["id"]): line for line in view.lines}
    rows = [] if view is None else [_row(view, one, lines[str(one.row["id"])], confidence(one)) for one in shown]
    return Block(title="Rows that changed", note=note, shown=rows, wide=True)


def _certainties(view: View | None) -> dict[str, float]:
    """The confidence of each row's most confident error, by the row's id."""
    if view is None:
        return {}
    return dict(zip((str(line["id"]) for line in view.lines), view.certainty().tolist(), strict=True))


def _row(view: View, one: Changed, line: dict[str, object], confidence: float) -> ShownRow:
    """The row with both predictions; its text is marked with A's. `confidence` is that of the wrong one."""
    sure = f" ({100 * confidence:.1f} %)" if view.bounded and 0 < confidence <= 1 else ""
    a, b = (
        f"{side.upper()}: {cut(view.says(value))}{sure * (one.better != side)}"
        for side, value in (("a", one.a), ("b", one.b))
    )
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=replace(view, lines=[line]).parts(line),
        label=cut(view.says(one.gold)),
        facts=[f"only {one.better.upper()} is right", a, b],
        right=None,
    )
