"""What the command line shows of several runs: groups of seeds, the best of several settings, and a comparison."""

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from finetune.cli.display import plain
from finetune.metrics.scores import metric_named, plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.seeds import differing_settings, failed, groups, spread_by_seed, summarised

if TYPE_CHECKING:
    from finetune.analysis.compare import Comparison
    from finetune.metrics.significance import Difference

NOT_TEXT = ("id", "gold", "answers", "start", "title", "document")  # of a row's fields


def summary_table(records: Sequence[RunRecord]) -> Table:
    """For each group of runs that differ in their seeds alone: mean, spread, 95 % interval, best, failed runs."""
    found = groups(records)
    table = Table(title="all runs", title_justify="left")
    left = ("task", "model", "settings", "runs", "metric", "95 % interval")
    columns = ("task", "model", "settings", "runs", "failed", "metric", "mean", "sd", "95 % interval", "best")
    for column in (*columns, "best baseline"):
        table.add_column(column, justify="left" if column in left else "right")
    for group, settings in zip(found, differing_settings([group[0] for group in found]), strict=True):
        for split in _chosen_on(group[0]):
            for cells in _summaries(group, split):
                table.add_row(group[0].task, group[0].model, plain(settings), str(len(group)), *cells)
    return table


def _chosen_on(record: RunRecord) -> list[str]:
    """The dev splits, of which MNLI has two; of a task without any its first split."""
    return [split for split in record.scores if split.startswith("dev")] or list(record.scores)[:1]


def _summaries(group: Sequence[RunRecord], split: str) -> Iterator[list[str]]:
    """For each metric: failed runs, its name, mean, sd, interval, best, and the best baseline."""
    failures = [failed(record, split) for record in group]
    for metric in plain_metrics(group[0].scores[split]):
        each = summarised([record.scores[split][metric] for record in group], metric)
        base = max(
            (given[metric] for given in group[0].baselines[split].values()), key=metric_named(metric).rank, default=None
        )
        yield [
            "" if None in failures else str(sum(map(bool, failures))),
            f"{split} {metric}",
            f"{100 * each.mean:.1f}",
            "" if each.sd is None else f"{100 * each.sd:.1f}",
            "" if each.interval is None else " to ".join(f"{100 * edge:.1f}" for edge in each.interval),
            f"{100 * each.best:.1f}",
            "" if base is None else f"{100 * base:.1f}",
        ]


def summary_lines(records: Sequence[RunRecord], *, discarded: bool = False, diverged: int = 0) -> list[str]:
    """Which of several settings is best and on what that was decided; spread by head initialisation and data order.

    `discarded` says that there were more settings, which came to no end; `diverged` counts runs without a score.
    """
    found = groups(records)
    lines = [f"diverged: {diverged}, failed runs that no mean has"] if diverged else []
    tasks = dict.fromkeys(group[0].task for group in found)
    for task in tasks:
        mine = [group for group in found if group[0].task == task]
        split, metric = next(iter(mine[0][0].scores)), mine[0][0].headline
        for group in mine:
            if (spread := spread_by_seed(group, metric, split)) is not None:
                by_init, by_order = (f"{100 * sd:.1f}" for sd in spread)
                what = f"sd of {split} {metric} over head initialisations {by_init}, over data orders {by_order}"
                lines.append(f"{task}: {what}")
        if len(mine) > 1:
            means = [summarised([run.scores[split][metric] for run in group], metric).mean for group in mine]
            best = max(zip(means, mine, strict=True), key=lambda pair: metric_named(metric).rank(pair[0]))[1]
            chosen = differing_settings([group[0] for group in mine])[mine.index(best)]
            others = [name for name in best[0].scores if name != split]
            tried = f"{len(mine)} settings" + " that were not discarded" * discarded
            lines.append(
                f"{task}: best of {tried} on {split} by {metric}: {plain(chosen)}"
                + "".join(f"; on {name} it has {_mean(best, name, metric)}" for name in others)
                + f" ({split} chose it, so its score there is optimistic)"
            )
    return lines


def _mean(group: Sequence[RunRecord], split: str, metric: str) -> str:
    return f"{100 * statistics.fmean(record.scores[split][metric] for record in group):.1f}"


def comparison_table(found: "Comparison") -> Table:
    """Each metric of both sides, the difference with its interval and p, of several metrics also adjusted by Holm's
    method, and how many rows would tell it.
    """
    several = len(found.differences) > 1
    sides = [ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more" for ids in (found.a, found.b)]
    title = f"{found.task}, {found.rows:,} rows of {found.split}; A is {sides[0]}, B is {sides[1]}"
    table = Table(title=title, title_justify="left")
    for column in ("metric", "A", "B", "B - A", "95 % interval", "p", *["p (Holm)"] * several, "rows to tell it"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, each in found.differences.items():
        table.add_row(
            name,
            f"{100 * each.a:.1f}",
            f"{100 * each.b:.1f}",
            f"{100 * each.value:+.1f}",
            " to ".join(f"{100 * edge:+.1f}" for edge in each.interval or ()),
            f"{each.p:.4f}",
            *[f"{found.holm[name]:.4f}"] * several,
            _rows_needed(each),
        )
    test = "" if found.mcnemar is None else f"McNemar's exact test: p {found.mcnemar:.4f}. "
    adjusted = f"p (Holm): adjusted for the {len(found.differences)} metrics. " * several
    needed = "Rows to tell it: for 80 % power at a level of 5 %."
    table.caption = f"{test}p and interval: paired bootstrap. {adjusted}{needed}"
    return table


def _rows_needed(each: "Difference") -> str:
    if each.rows_needed is not None:
        return f"{each.rows_needed:,}"
    return "more seeds" if each.value else ""


def changed_table(found: "Comparison", most: int) -> Table:
    """Some of the rows that one side has right and the other wrong."""
    better = [sum(change.better == side for change in found.changed) for side in "ab"]
    first = " (of each side's first run)" if len(found.a) > 1 or len(found.b) > 1 else ""
    title = f"{better[0]} rows that only A has right, {better[1]} that only B has right{first}"
    table = Table(title=title, title_justify="left", show_lines=True)
    for column in ("id", "text", "gold", "A", "B"):
        table.add_column(column, overflow="fold")
    for change in found.changed[:most]:
        shown = [value for name, value in change.row.items() if name not in NOT_TEXT and value]
        table.add_row(str(change.row["id"]), *map(plain, (shown, change.gold, change.a, change.b)))
    return table
