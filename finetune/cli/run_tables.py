"""Tables of runs: one run's scores, a list of runs, groups of seeds, the best of several settings."""

from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from finetune.analysis.published import published_for
from finetune.analysis.recorded_models import COLUMNS, SIZE, OldAndNew, compared_cells, old_and_new
from finetune.cli.console import STYLES, Terminal, as_plain_text
from finetune.cli.options import note_line, with_options
from finetune.cli.tables import (
    Column,
    FittedTable,
    TextCell,
    columns,
    table_from_cells,
    to_the_minute,
)
from finetune.cli.terminal import one_line
from finetune.data.messages import noun, so_many
from finetune.metrics.scores import plain_metrics
from finetune.runs.data_sizes import best_group
from finetune.runs.interrupted import InterruptedRun
from finetune.runs.pace import duration
from finetune.runs.recipe_diff import listed_differences
from finetune.runs.record import ListedRun, RunRecord
from finetune.runs.record_parts import OLD_DEV
from finetune.runs.seeds import by_setting, differing_settings, failed, shared_encoders, summarised
from finetune.runs.verdict import interval_of

CONSTANT = "no better than constant"  # runs, as `failed` counts them
TAG_BASELINE = "most-frequent-tag"  # which every tagging task has


def print_record(console: Terminal, record: RunRecord, *, printed: set[str] | None = None) -> None:
    """Prints what is wrong with a run's data, scores, scores by label if it has any, and notes, but for notes that were
    `printed` before.
    """
    known = set() if printed is None else printed
    for one in record.findings:
        if one.what not in known:
            code = f"{one.severity} {one.code}"
            console.print_line(f"{code}: {one.what}", style=STYLES[one.severity], styled=len(code))
            console.print_line(f"  -> {with_options(one.remedy)}")
            if one.command:
                console.print_command(one.command)
        known.add(one.what)
    console.print(record_table(record))
    if (labels := labels_table(record)) is not None:
        console.print(labels)
    if record.compared:
        console.print(compared_table(record))
    compared = old_and_new(record)
    if compared is not None and (table := old_and_new_table(compared)) is not None:
        console.print(table)
    for note in record.notes:
        if note not in known:
            console.print_line(note_line(note))
        known.add(note)


def record_table(record: RunRecord) -> FittedTable:
    """A run's scores next to its baselines and published scores of the same model and split."""
    metrics = plain_metrics(record.scores[record.first_split])
    rows: list[Mapping[str, TextCell]] = []
    for split, scores in record.scores.items():
        anchors = [(f"published: {one.source}", {one.metric: one.score}) for one in published_for(record, split)]
        for method, given in [("this run", scores), *record.baselines[split].items(), *anchors]:
            shown = {name: record.metric(name).shown(given[name]) if name in given else "" for name in metrics}
            bold = {name: Text(text, "bold" if given is scores else "") for name, text in shown.items()}
            rows.append({"split": split, "method": method, **bold})
    title = one_line(f"{record.task}, run {record.id} ({record.model})")
    return table_from_cells(title, rows, right=metrics, words=["method"])


def labels_table(record: RunRecord) -> FittedTable | None:
    """A run's scores by label, or by entity type for tagging; None if its task is not scored so.

    Those on the old dev of `keep_labels` are in `old_and_new_table`.
    """
    names = [name.rpartition("/") for name in record.scores[record.first_split] if "/" in name]
    labels, metrics = ([*dict.fromkeys(name[part] for name in names)] for part in (0, 2))
    tagged = any(TAG_BASELINE in given for given in record.baselines.values())
    of_entities = tagged and "f1" in record.scores[record.first_split]  # plain tags have an accuracy
    kind = "entity type" if of_entities else "label"
    rows = []
    for split, scores in record.scores.items():
        for label in labels if split != OLD_DEV else ():
            given = {metric: scores.get(f"{label}/{metric}") for metric in metrics}
            shown = {
                metric: "" if score is None else record.metric(f"{label}/{metric}").shown(score)
                for metric, score in given.items()
            }
            rows.append({"split": split, kind: label, **shown})
    return table_from_cells(f"by {kind}", rows, right=metrics) if labels else None


def compared_table(record: RunRecord) -> FittedTable:
    """The run and the models that it was made of, such as teacher and student, by score, size and speed."""
    numbers = [*plain_metrics(record.scores[record.first_split]), *SIZE]
    names = [Column(name="split"), Column(name="model", words=True), Column(name="runs", words=True)]
    headings = [*names, *columns(*numbers, right=numbers)]
    return FittedTable(title="compared", columns=headings, rows=list(map(tuple, compared_cells(record))))


def old_and_new_table(found: OldAndNew) -> FittedTable | None:
    """F1 by label of the old model and of the new one; None if the task is not scored so."""
    headings = [Column(name=COLUMNS[0]), *columns(*COLUMNS[1:], right=COLUMNS[1:])]
    title = "f1 by label on the old dev rows"
    return FittedTable(title=title, columns=headings, rows=list(found.cells)) if found.cells else None


def latest_table(runs: Sequence[ListedRun]) -> FittedTable:
    """A table with one line per task: how many runs it has, and the latest of them."""
    latest = {run.task: run for run in sorted(runs, key=lambda run: run.finished)}
    rows = [
        {
            "task": run.task, "runs": str(sum(other.task == run.task for other in runs)), "latest": run.id,
            "model": run.model, "score": _headline_score(run), "finished": run.finished,
        }
        for run in sorted(latest.values(), key=lambda run: run.finished)
    ]  # fmt: skip
    note = "all runs of a task: `finetune ls TASK`; its models and settings compared: `finetune ls TASK --board`"
    return table_from_cells("runs by task", rows, right=["runs"], notes=[note])


def runs_table(runs: Sequence[ListedRun], *, title: str = "runs") -> FittedTable:
    """A table with one line per run; its settings are those in which the runs of a task differ."""
    rows = [
        {
            "task": run.task, "id": run.id, "model": run.model, "encoder": run.lineage.brief if run.lineage else "",
            "settings": as_plain_text(settings), "seed": str(run.recipe.seed), "score": _headline_score(run),
            "finished": run.finished,
        }
        for run, settings in zip(runs, listed_differences(runs), strict=True)
    ]  # fmt: skip
    return table_from_cells(title, rows)


def _headline_score(run: ListedRun) -> str:
    return f"{run.headline} {run.metric(run.headline).shown(run.score)}"


def interrupted_table(runs: Iterable[InterruptedRun]) -> FittedTable:
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


def running_table(runs: Iterable[InterruptedRun]) -> FittedTable:
    """A line per training run: its process, progress, rate and time left."""
    rows = [
        {
            "task": run.task, "id": run.id, "where": run.where,
            "epoch": _of(run.epoch, run.epochs) if run.epoch else "",
            "update": _of(run.update, run.updates) if run.updates else "not yet",
            "examples/s": f"{run.rate:.0f}" if run.rate else "", "left": duration(run.left) if run.rate else "",
        }
        for run in runs
    ]  # fmt: skip
    return table_from_cells("running", rows)


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
            failures = [failed(record, split) for record in group]
            for name in plain_metrics(first.scores[split]):
                metric, shown = first.metric(name), first.metric(name).shown
                each = summarised([record.scores[split][name] for record in group], metric)
                bases = [base for record in group if (base := record.best_baseline(split, name)) is not None]
                rows.append({
                    "task": first.task, "model": first.model, "settings": as_plain_text(settings),
                    "runs": str(len(group)), CONSTANT: "" if None in failures else str(sum(map(bool, failures))),
                    "metric": f"{split} {name}", "mean": shown(each.mean),
                    "sd": "" if each.sd is None else shown(each.sd),
                    "95 % interval": " to ".join(map(shown, interval_of(group, split, name) or ())),
                    "best": shown(each.best), "best baseline": shown(metric.spacing.mean(bases)) if bases else "",
                })  # fmt: skip
    return table_from_cells("all runs", rows, right=[CONSTANT, "mean", "sd", "95 % interval", "best", "best baseline"])


def summary_lines(records: Sequence[RunRecord], *, diverged: int = 0) -> list[str]:
    """The best of several settings and the split it was chosen on.

    `diverged` is the number of runs without a score.
    """
    found = by_setting(records)
    which = f"{so_many(diverged, 'run')} diverged and {noun(diverged, 'is', 'are')}"
    lines = [f"{which} excluded from the mean"] if diverged else []
    tasks = dict.fromkeys(group[0].task for group in found)
    for task in tasks:
        mine = [group for group in found if group[0].task == task]
        split, name = mine[0][0].first_split, mine[0][0].headline
        for group in mine:
            lines += [f"{task}: {note}"] if (note := shared_encoders(group)) else []
        if len(mine) > 1:
            best = best_group([record for group in mine for record in group])
            chosen = differing_settings([group[0] for group in mine])[mine.index(best)]
            others = [other for other in best[0].scores if other != split]
            lines.append(
                f"{task}: best of {len(mine)} settings on {split} by {name}: {as_plain_text(chosen)}"
                + "".join(f"; {_mean(best, other, name)} on {other}" for other in others)
                + f" (it was chosen on {split}, so its score there is optimistic)"
            )
    return lines


def _mean(group: Sequence[RunRecord], split: str, metric: str) -> str:
    found = group[0].metric(metric)
    return found.shown(found.spacing.mean([record.scores[split][metric] for record in group]))
