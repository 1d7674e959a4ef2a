"""Tables of runs: one run's scores, a list of runs, groups of seeds, the best of several settings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from finetune.analysis.published import published_for
from finetune.analysis.recorded_models import COLUMNS, SIZE, OldAndNew, compared_cells, old_and_new
from finetune.cli.console import STYLES, Terminal, as_plain_text
from finetune.cli.options import note_line, with_options
from finetune.cli.tables import CellRow, Column, FittedTable, columns, short_model
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
from finetune.task_types.tagging.intent.row import PREFIX

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
    shown = {metric: record.metric(metric).shown for metric in metrics}
    rows: list[CellRow] = []
    for split, scores in record.scores.items():
        rows.append((split, "this run", *(Text(shown[metric](scores[metric]), "bold") for metric in metrics)))
        for method, given in record.baselines[split].items():
            rows.append((split, method, *(shown[metric](given[metric]) for metric in metrics)))
        for anchor in published_for(record, split):
            cells = (shown[metric](anchor.score) if metric == anchor.metric else "" for metric in metrics)
            rows.append((split, f"published: {anchor.source}", *cells))
    return FittedTable(
        title=one_line(f"{record.task}, run {record.id} ({record.model})"),
        columns=[Column(name="split"), Column(name="method", words=True), *columns(*metrics, right=metrics)],
        rows=rows,
    )


def labels_table(record: RunRecord) -> FittedTable | None:
    """A run's scores by label, or by entity type for tagging; None if its task is not scored so.

    Those on the old dev of `keep_labels` are in `old_and_new_table`.
    """
    named = [name.rsplit("/", 1) for name in record.scores[record.first_split] if "/" in name]
    labels, metrics = list(dict.fromkeys(g for g, _ in named)), list(dict.fromkeys(m for _, m in named))
    rows = []
    for split, scores in record.scores.items():
        for label in labels if split != OLD_DEV else ():
            names = [f"{label}/{metric}" for metric in metrics]
            shown = (record.metric(name).shown(scores[name]) if name in scores else "" for name in names)
            rows.append((split, label, *shown))
    tagged = any(TAG_BASELINE in given for given in record.baselines.values())
    kind = "entity type" if tagged and not any(label.startswith(PREFIX) for label in labels) else "label"
    headings = [Column(name="split"), Column(name=kind), *columns(*metrics, right=metrics)]
    return FittedTable(title=f"by {kind}", columns=headings, rows=rows) if labels else None


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
    count = Counter(run.task for run in runs)
    rows = [
        (task, str(count[task]), run.id, run.model, _headline_score(run), run.finished)
        for task, run in sorted(latest.items(), key=lambda one: one[1].finished)
    ]
    finished = Column(name="finished", short=_to_the_minute)
    headings = [Column(name="task"), *columns("runs", "latest", right=["runs"]), MODEL, *columns("score")]
    note = "all runs of a task: `finetune ls TASK`; its models and settings compared: `finetune ls TASK --board`"
    return FittedTable(title="runs by task", columns=[*headings, finished], rows=rows, notes=[note])


def runs_table(runs: Sequence[ListedRun], *, title: str = "runs") -> FittedTable:
    """A table with one line per run; its settings are those in which the runs of a task differ."""
    rows = [
        (
            run.task,
            run.id,
            run.model,
            "" if run.lineage is None else run.lineage.brief,
            as_plain_text(settings),
            str(run.recipe.seed),
            _headline_score(run),
            run.finished,
        )
        for run, settings in zip(runs, listed_differences(runs), strict=True)
    ]
    finished = Column(name="finished", short=_to_the_minute)
    first = [Column(name="task"), Column(name="id"), MODEL]
    words = [Column(name="encoder", words=True), Column(name="settings", words=True)]
    headings = [*first, *words, *columns("seed", "score"), finished]
    return FittedTable(title=title, columns=headings, rows=rows)


def _headline_score(run: ListedRun) -> str:
    return f"{run.headline} {run.metric(run.headline).shown(run.score)}"


def interrupted_table(runs: Iterable[InterruptedRun]) -> FittedTable:
    """A line per run without a record: how far it came, and what it resumes from."""
    rows = [
        (
            run.task,
            run.id,
            f"{run.update:,} of {run.updates:,}" if run.updates else "none",
            f"{run.epoch} of {run.epochs}" if run.epoch else "",
            f"update {run.checkpoint:,}" if run.checkpoint else "none",
            _to_the_minute(run.last),
            "running" if run.running else "",
        )
        for run in runs
    ]
    headings = [Column(name="task"), *columns("id", "update", "epoch", "checkpoint", "last written", "now")]
    note = "the same command as before resumes such a run at its checkpoint, or starts it again where it has none"
    return FittedTable(title="interrupted runs", columns=headings, rows=rows, notes=[note])


def running_table(runs: Iterable[InterruptedRun]) -> FittedTable:
    """A line per training run: its process, progress, rate and time left."""
    rows = [
        (
            run.task,
            run.id,
            run.where,
            f"{run.epoch} of {run.epochs}" if run.epoch else "",
            f"{run.update:,} of {run.updates:,}" if run.updates else "not yet",
            f"{run.rate:.0f}" if run.rate else "",
            duration(run.left) if run.rate else "",
        )
        for run in runs
    ]
    headings = [Column(name="task"), *columns("id", "where", "epoch", "update", "examples/s", "left")]
    return FittedTable(title="running", columns=headings, rows=rows)


def summary_table(records: Sequence[RunRecord]) -> FittedTable:
    """For each group of runs that differ only in their seeds: mean, sd, the verdict's 95 % interval (of the
    headline), best, and the runs that are no better than a constant prediction.
    """
    found = by_setting(records)
    numbers = ("mean", "sd", "95 % interval", "best", "best baseline")
    headings = [
        *(Column(name="task"), MODEL, Column(name="settings", words=True)),
        *columns("runs", CONSTANT, "metric", *numbers, right=(CONSTANT, *numbers)),
    ]
    rows = []
    for group, settings in zip(found, differing_settings([group[0] for group in found]), strict=True):
        for split in _chosen_on(group[0]):
            for cells in _summaries(group, split):
                rows.append((group[0].task, group[0].model, as_plain_text(settings), str(len(group)), *cells))
    return FittedTable(title="all runs", columns=headings, rows=rows)


def _to_the_minute(time: str) -> str:
    """`2026-11-21 08:53` of `2026-11-21T08:53:12+00:00`."""
    return time[:16].replace("T", " ")


CONSTANT = "no better than constant"  # runs, as `failed` counts them
MODEL = Column(name="model", names=True, short=short_model)


def _chosen_on(record: RunRecord) -> list[str]:
    """The dev splits (MNLI has two); for a task without any, its first split."""
    return [split for split in record.scores if split.startswith("dev")] or [record.first_split]


def _summaries(group: Sequence[RunRecord], split: str) -> Iterator[list[str]]:
    """For each metric: failed runs, name, mean, sd, interval, best, and the best baseline."""
    failures = [failed(record, split) for record in group]
    for name in plain_metrics(group[0].scores[split]):
        metric = group[0].metric(name)
        shown = metric.shown
        each = summarised([record.scores[split][name] for record in group], metric)
        interval = interval_of(group, split, name)
        bases = [base for record in group if (base := record.best_baseline(split, name)) is not None]
        yield [
            "" if None in failures else str(sum(map(bool, failures))),
            f"{split} {name}",
            shown(each.mean),
            "" if each.sd is None else shown(each.sd),
            " to ".join(map(shown, interval or ())),
            shown(each.best),
            shown(metric.spacing.mean(bases)) if bases else "",
        ]


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
