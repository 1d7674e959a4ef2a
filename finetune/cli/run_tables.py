"""Tables of runs: one run's scores, a list of runs, groups of seeds, the best of several settings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from finetune.analysis.published import published_for
from finetune.cli.console import STYLES, Terminal, as_plain_text
from finetune.cli.options import note_line, with_options
from finetune.cli.tables import FittedTable, TextCell, table_from_cells
from finetune.cli.terminal import one_line
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import plain_metrics
from finetune.runs.record import RunRecord
from finetune.runs.seeds import (
    best_group,
    by_setting,
    differing_settings,
    failures,
    mean_score,
    settings_by_task,
    shared_encoders,
    summarised,
)
from finetune.runs.verdict import interval_of

if TYPE_CHECKING:
    from finetune.runs.listing import InterruptedRun

CONSTANT = "no better than constant"  # runs, as `failed` counts them


def print_record(console: Terminal, record: RunRecord, *, printed: set[str] | None = None) -> None:
    """Prints what is wrong with a run's data, scores, scores by label if it has any, and notes, but for notes that were
    `printed` before.
    """
    before = set() if printed is None else printed
    for finding in record.findings:
        if finding.what not in before:
            code = f"{finding.severity} {finding.code}"
            console.print_line(f"{code}: {finding.what}", style=STYLES[finding.severity], styled=len(code))
            console.print_line(f"  -> {with_options(finding.remedy)}")
            if finding.command:
                console.print_command(finding.command)
        before.add(finding.what)
    console.print(record_table(record))
    if (labels := labels_table(record)) is not None:
        console.print(labels)
    for note in record.notes:
        if note not in before:
            console.print_line(note_line(note))
        before.add(note)


def record_table(record: RunRecord) -> FittedTable:
    """A run's scores next to its baselines and published scores of the same model and split."""
    metrics = plain_metrics(record.scores[record.first_split])
    rows: list[Mapping[str, TextCell]] = []
    for split, ours in record.scores.items():
        anchors = [(f"published: {one.source}", {one.metric: one.score}) for one in published_for(record, split)]
        for method, scores in [("this run", ours), *record.baselines[split].items(), *anchors]:
            style = "bold" if scores is ours else ""
            shown = {name: _shown(record, name, scores.get(name), style) for name in metrics}
            rows.append({"split": split, "method": method, **shown})
    title = one_line(f"{record.task}, run {record.id} ({record.model})")
    return table_from_cells(title, rows, right=metrics, words=["method"])


def _shown(record: RunRecord, name: str, score: float | None, style: str = "") -> Text:
    return Text("" if score is None else record.metric(name).shown(score), style)


def labels_table(record: RunRecord) -> FittedTable | None:
    """A run's scores by label, or by entity type for tagging; None if its task is not scored so."""
    names = [name.rpartition("/") for name in record.scores[record.first_split] if "/" in name]
    labels, metrics = ([*dict.fromkeys(name[part] for name in names)] for part in (0, 2))
    rows: list[Mapping[str, TextCell]] = []
    for split, scores in record.scores.items():
        for label in labels:
            names_of = {metric: f"{label}/{metric}" for metric in metrics}
            shown = {metric: _shown(record, name, scores.get(name)) for metric, name in names_of.items()}
            rows.append({"split": split, "label": label, **shown})
    return table_from_cells("by label", rows, right=metrics) if labels else None


def runs_table(runs: Sequence[RunRecord], *, title: str = "runs") -> FittedTable:
    """A table with one line per run; its settings are those in which the runs of a task differ."""
    rows = [
        {
            "task": run.task, "id": run.id, "model": run.model, "encoder": run.lineage.words if run.lineage else "",
            "settings": as_plain_text(settings), "seed": str(run.recipe["seed"]), "score": _headline_score(run),
            "finished": to_the_minute(run.finished),
        }
        for run, settings in zip(runs, settings_by_task(runs), strict=True)
    ]  # fmt: skip
    return table_from_cells(title, rows)


def _headline_score(run: RunRecord) -> str:
    return f"{run.headline} {run.metric(run.headline).shown(run.score)}"


def interrupted_table(runs: "Iterable[InterruptedRun]") -> FittedTable:
    """A line per run without a record: how far it came, and what it resumes from."""
    rows = [
        {
            "task": run.task, "id": run.id, "update": _of(run.update, run.updates) if run.updates else "none",
            "epoch": _of(run.epoch, run.epochs) if run.epoch else "",
            "checkpoint": f"update {run.checkpoint:,}" if run.checkpoint else "none",
            "last written": to_the_minute(run.last), "now": "running" * run.running,
        }
        for run in runs
    ]  # fmt: skip
    note = "the same command as before resumes such a run at its checkpoint, or starts it again where it has none"
    return table_from_cells("interrupted runs", rows, notes=[note])


def to_the_minute(time: str) -> str:
    """`2026-11-21 08:53` of `2026-11-21T08:53:12+00:00`."""
    return time[:16].replace("T", " ")


def _of(count: int, of: int) -> str:
    return f"{count:,} of {of:,}"


def summary_table(records: Sequence[RunRecord]) -> FittedTable:
    """For each group of runs that differ only in their seeds: mean, sd, the verdict's 95 % interval (of the
    headline), best, and the runs that are no better than a constant prediction.
    """
    groups, rows = by_setting(records), []
    for group, settings in zip(groups, differing_settings([group[0] for group in groups]), strict=True):
        first = group[0]
        splits = [split for split in first.scores if split.startswith("dev")]  # MNLI has two
        for split in splits or [first.first_split]:
            count = failures(group, split)
            for name in plain_metrics(first.scores[split]):
                metric, shown = first.metric(name), first.metric(name).shown
                each = summarised([record.scores[split][name] for record in group], metric)
                bases = [base for record in group if (base := record.best_baseline(split, name)) is not None]
                rows.append({
                    "task": first.task, "model": first.model, "settings": as_plain_text(settings),
                    "runs": str(len(group)), CONSTANT: "" if count is None else str(count),
                    "metric": f"{split} {name}", "mean": shown(each.mean),
                    "sd": "" if each.sd is None else shown(each.sd),
                    "95 % interval": metric.ends(interval_of(group, split, name)),
                    "best": shown(each.best), "best baseline": shown(metric.spacing.mean(bases)) if bases else "",
                })  # fmt: skip
    return table_from_cells("all runs", rows, right=[CONSTANT, "mean", "sd", "95 % interval", "best", "best baseline"])


def summary_lines(records: Sequence[RunRecord], *, diverged: int = 0) -> list[str]:
    """The best of several settings and the split it was chosen on.

    `diverged` is the number of runs without a score.
    """
    which = f"{so_many(diverged, 'run')} diverged and {noun(diverged, 'is', 'are')}"
    lines = [f"{which} excluded from the mean"] if diverged else []
    for task in dict.fromkeys(record.task for record in records):
        mine = by_setting(record for record in records if record.task == task)
        lines += [f"{task}: {note}" for note in map(shared_encoders, mine) if note]
        if len(mine) > 1:
            best = best_group([record for group in mine for record in group])
            first, chosen = best[0], differing_settings([group[0] for group in mine])[mine.index(best)]
            metric, split = first.metric(first.headline), first.first_split
            others = [other for other in first.scores if other != split]
            lines.append(
                f"{task}: best of {len(mine)} settings on {split} by {metric.name}: {as_plain_text(chosen)}"
                + "".join(f"; {metric.shown(mean_score(best, other, metric.name))} on {other}" for other in others)
                + f" (it was chosen on {split}, so its score there is optimistic)"
            )
    return lines
