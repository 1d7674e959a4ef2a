"""Two runs, or two groups of seeds, on the same rows: what differs between them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from finetune.analysis.compare import compare_runs
from finetune.analysis.comparison import Changed, Comparison
from finetune.commands.report.blocks import Block, ShownRow, TableBlock
from finetune.commands.report.run_files import Group, PageRuns, view_of_run
from finetune.commands.report.text import NAME, shown_of
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.seeds import differing_settings
from finetune.task_types.marked_text import cut
from finetune.task_types.view import View

ROWS_SHOWN = 20  # rows that changed


def compared(groups: Sequence[Group]) -> Comparison | None:
    """The comparison of two groups of one task on the first split.

    None for other numbers of groups, where rows differ, predictions are missing or the task is unknown.
    """
    if len(groups) != 2 or groups[0][0].record.task != groups[1][0].record.task:
        return None
    try:
        return compare_runs(*([one.folder for one in group] for group in groups))
    except (UserError, KeyError):
        return None


def sentence(found: Comparison) -> str:
    """`B is better than A in dev f1: B - A is +1.2 points (95 % +0.3 to +2.1, p 0.01).`"""
    name, each = next(iter(found.differences.items()))
    metric = found.metrics[name]
    if not each.value:
        return f"A and B have the same {found.split} {name}."
    unit = " points" if metric.scale == 100 else ""
    word = "better" if metric.rank(each.b) > metric.rank(each.a) else "worse"
    between = f"95 % {' to '.join(map(metric.signed, each.interval))}, " if each.interval else ""
    chance = ", which may be chance" if each.p > 0.05 else ""
    text = f"B is {word} than A in {found.split} {name}{chance}: B - A is {metric.signed(each.value)}{unit}"
    return f"{text} ({between}p {each.p:.2g})."


def one_seed(groups: Sequence[Group]) -> list[str]:
    """What to train where a side of a comparison has one seed."""
    single = [letter for letter, group in zip("AB", groups, strict=True) if len(group) == 1]
    if not single:
        return []
    which = "A and B have one seed each" if len(single) == 2 else f"{single[0]} has one seed"
    return [f"{which}: this compares models, not settings. Train both with 3 seeds, and report all of the runs."]


def letter_titles(groups: Sequence[Group]) -> list[str]:
    """A title for each of two sides, with what differs: `A: not frozen, train.epochs 3, 3 seeds`."""

    def in_words(key: str, value: object) -> str:
        return cut({True: key, False: f"not {key}"}[value] if isinstance(value, bool) else f"{key} {value}", NAME)

    settings = differing_settings([group[0].record for group in groups])
    return [
        f"{letter}: {', '.join([*(in_words(*each) for each in one.items()), so_many(len(group), 'seed')])}"
        for letter, group, one in zip("AB", groups, settings, strict=True)
    ]


def comparison_blocks(page: PageRuns) -> Iterator[Block]:
    """The runs and settings of each side, and a table of the metrics, if there is a comparison."""
    if (found := page.comparison) is None:
        return
    settings = differing_settings([side[0].record for side in page.groups])
    rows = [["runs", *(", ".join(one.record.id for one in side) for side in page.groups)]]
    for key in dict.fromkeys(key for one in settings for key in one):
        rows.append([key, *(cut(str(one.get(key, "–"))) for one in settings)])
    yield Block(title="A and B", table=TableBlock(columns=["", "A", "B"], rows=rows, left=3))
    notes = " ".join(f"{note[:1].upper()}{note[1:]}." for note in found.notes)
    yield Block(
        title="Difference",
        note=f"{sentence(found)} {found.counted} of {found.split}. {found.tests} {notes}".rstrip(),
        table=TableBlock(columns=found.columns, rows=found.cells, strong=[0]),
    )


def changed_rows_block(page: PageRuns) -> Iterator[Block]:
    """At most ROWS_SHOWN rows that only one side's first run has right, where A and B are compared: those first on
    which the other is most confident.
    """
    found = page.comparison
    if found is None or not found.changed:
        return
    views = {side: view_of_run(group[0], found.split) for side, group in zip("ab", page.groups, strict=True)}
    sure = {
        (side, str(line["id"])): float(confidence)
        for side, view in views.items()
        if view is not None
        for line, confidence in zip(view.lines, view.certainty(), strict=True)
    }

    def confidence_of(one: Changed) -> float:
        return sure.get(("b" if one.better == "a" else "a", str(one.row["id"])), -np.inf)

    by_confidence = sorted(found.changed, key=confidence_of, reverse=True)
    only_a, only_b = ([one for one in by_confidence if one.better == side] for side in "ab")
    shown = only_a[: ROWS_SHOWN // 2]
    shown += only_b[: ROWS_SHOWN - len(shown)]
    first = " (of each side's first run)" if any(len(group) > 1 for group in page.groups) else ""
    note = (
        f"{so_many(len(only_a))} that only A has right, {len(only_b):,} that only B has right{first}; those "
        f"first on which the other is most confident. {shown_of(len(shown), len(found.changed), 'rows')}"
    )
    rows = [] if (view := views["a"]) is None else [_row(view, one, confidence_of(one)) for one in shown]
    yield Block(title="Rows that changed", note=note, shown=rows, wide=True)


def _row(view: View, one: Changed, confidence: float) -> ShownRow:
    """The row with both predictions; its text is marked with A's. `confidence` is of the wrong one."""
    line = next(line for line in view.lines if str(line["id"]) == str(one.row["id"]))
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
