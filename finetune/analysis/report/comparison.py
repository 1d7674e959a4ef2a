"""Two runs, or two groups of seeds, on the same rows: the difference in each metric, and the rows that changed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap

from finetune.analysis.compare import Changed, Comparison, compare_runs
from finetune.analysis.report.blocks import Block, ShownRow, Table
from finetune.analysis.report.run_files import RunFiles
from finetune.analysis.report.text import NAME, shown_of
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Difference
from finetune.runs.seeds import differing_settings
from finetune.task_types.marked_text import cut
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View

MOST_SHOWN = 20


def compared(groups: Sequence[Sequence[RunFiles]]) -> Comparison | None:
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
    """`B is better than A in dev f1: B − A is +1.2 points (95 % +0.3 to +2.1, p 0.01).`"""
    name, each = next(iter(found.differences.items()))
    metric = found.metrics[name]
    if not each.value:
        return f"A and B have the same {found.split} {name}."
    unit = " points" if metric.scale == 100 else ""
    word = "better" if metric.rank(each.b) > metric.rank(each.a) else "worse"
    between = f"95 % {_interval(each, metric)}, " if each.interval else ""
    chance = ", which may be chance" if each.p > 0.05 else ""
    text = f"B is {word} than A in {found.split} {name}{chance}: B − A is {metric.signed(each.value)}{unit}"
    return f"{text} ({between}p {each.p:.2g})."


def letter_titles(groups: Sequence[Sequence[RunFiles]]) -> list[str]:
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


def blocks(a: Sequence[RunFiles], b: Sequence[RunFiles], found: Comparison) -> Iterator[Block]:
    """A table of the metrics, how the settings differ, and rows that only one side has right."""
    yield Block(title="A and B", table=_sides(a, b))
    columns = ["metric", "A", "B", "B − A", "95 % interval", "p", "p (Holm)"]
    rows = [_line(found, name) for name in found.differences]
    test = "" if found.mcnemar is None else f" McNemar's exact test: p {found.mcnemar:.4f}."
    yield Block(
        title="Difference",
        note=f"{sentence(found)} {so_many(found.rows)} of {found.split}; interval and p: paired bootstrap over rows "
        f"and seeds; Holm: for {so_many(len(rows), 'metric')}.{test} {'; '.join(found.notes)}",
        table=Table(columns=columns, rows=rows, strong=[0]),
    )
    if found.changed:
        yield _changed(a, b, found)


def _sides(a: Sequence[RunFiles], b: Sequence[RunFiles]) -> Table:
    """The runs of each side, and the settings that differ."""
    settings = differing_settings([a[0].record, b[0].record])
    keys = list(dict.fromkeys(key for one in settings for key in one))
    rows = [["runs", *(", ".join(one.record.id for one in side) for side in (a, b))]]
    rows += [[key, *(cut(str(one.get(key, "–"))) for one in settings)] for key in keys]
    return Table(columns=["", "A", "B"], rows=rows, left=3)


def _line(found: Comparison, name: str) -> list[str]:
    each, metric = found.differences[name], found.metrics[name]
    return [
        name if metric.greater_is_better else f"{name} (lower is better)",
        metric.shown(each.a), metric.shown(each.b), metric.signed(each.value), _interval(each, metric),
        f"{each.p:.4f}", f"{found.holm[name]:.4f}",
    ]  # fmt: skip


def _changed(a: Sequence[RunFiles], b: Sequence[RunFiles], found: Comparison) -> Block:
    better = {side: [one for one in found.changed if one.better == side] for side in "ab"}
    half = MOST_SHOWN // 2
    shown = [*better["a"][:half], *better["b"][: MOST_SHOWN - min(half, len(better["a"]))]]
    first = " (of each side's first run)" if len(a) > 1 or len(b) > 1 else ""
    lines = {str(line["id"]): line for line in a[0].predictions.get(found.split, ())}
    view = split_view_of(a[0].record, a[0].folder, found.split, list(lines.values()))
    note = (
        f"{so_many(len(better['a']))} that only A has right, {len(better['b']):,} that only B has right{first}. "
        f"{shown_of(len(shown), len(found.changed), 'rows')}"
    )
    rows = [] if view is None else [_row(view, one, lines[str(one.row["id"])]) for one in shown]
    return Block(title="Rows that changed", note=note, shown=rows, wide=True)


def _row(view: View, one: Changed, line: dict[str, object]) -> ShownRow:
    """The row with both predictions; its text is marked with A's."""
    label, said = cut(view.says(one.gold)), [cut(view.says(each)) for each in (one.a, one.b)]
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=replace(view, lines=[line]).parts(line),
        label=label,
        facts=[f"only {one.better.upper()} is right", f"A: {said[0]}", f"B: {said[1]}"],
        right=None,
    )
