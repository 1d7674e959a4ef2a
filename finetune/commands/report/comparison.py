"""Two runs, or two groups of seeds, on the same rows: what differs between them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap

import numpy as np

from finetune.analysis.compare import compare_runs
from finetune.analysis.comparison import Changed, Comparison
from finetune.commands.report.blocks import Block, ShownRow, TableBlock
from finetune.commands.report.run_files import Group, PageRuns, view_of_run
from finetune.commands.report.text import NAME, shown_of
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Difference
from finetune.runs.seeds import differing_settings
from finetune.task_types.marked_text import cut
from finetune.task_types.view import View


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
    between = f"95 % {_interval(each, metric)}, " if each.interval else ""
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
    """A title for each of two sides, with what differs: `A: frozen, 3 seeds`."""
    settings = differing_settings([group[0].record for group in groups])
    return [
        f"{letter}: {', '.join([*starmap(_in_words, one.items()), so_many(len(group), 'seed')])}"
        for letter, group, one in zip("AB", groups, settings, strict=True)
    ]


def _in_words(key: str, value: object) -> str:
    """`frozen`, `not frozen`, `train.epochs 3`"""
    return cut({True: key, False: f"not {key}"}[value] if isinstance(value, bool) else f"{key} {value}", NAME)


def _interval(each: Difference, metric: Metric) -> str:
    return " to ".join(map(metric.signed, each.interval or ()))


def comparison_blocks(page: PageRuns) -> Iterator[Block]:
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


def _sides(a: Group, b: Group) -> TableBlock:
    """The runs of each side, and the settings that differ."""
    settings = differing_settings([a[0].record, b[0].record])
    keys = list(dict.fromkeys(key for one in settings for key in one))
    rows = [["runs", *(", ".join(one.record.id for one in side) for side in (a, b))]]
    rows += [[key, *(cut(str(one.get(key, "–"))) for one in settings)] for key in keys]
    return TableBlock(columns=["", "A", "B"], rows=rows, left=3)


ROWS_SHOWN = 20


def changed_rows_block(page: PageRuns) -> Iterator[Block]:
    """At most ROWS_SHOWN rows, where A and B are compared and some rows changed."""
    if page.comparison is not None and page.comparison.changed:
        yield _changed(page.groups[0], page.groups[1], page.comparison)


def _changed(a: Group, b: Group, found: Comparison) -> Block:
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
