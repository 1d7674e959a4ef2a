"""Tables of runs and of their data: scores, a list of runs, groups of seeds, the best of several settings."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from finetune.analysis.published import published_for
from finetune.analysis.table import Line, NoteLine, Part, TextTable, as_plain_text
from finetune.data.messages import first_of, noun, so_many
from finetune.metrics.metric import plain_metrics
from finetune.runs.record import DataFinding, RunRecord
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
    from finetune.task_types.columns import Layout

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}  # of what was found in data
LABELS_SHOWN = 4
CONSTANT = "no better than constant"  # runs, as `failed` counts them


def record_parts(record: RunRecord) -> Iterator[Part]:
    """What is wrong with a run's data, its scores, scores by label if it has any, and notes."""
    for finding in record.findings:
        yield from finding_lines(finding)
    yield record_table(record)
    if (labels := labels_table(record)) is not None:
        yield labels
    yield from map(NoteLine, record.notes)


def finding_lines(finding: DataFinding) -> Iterator[Line]:
    """An error or warning on a run's data, and what to do."""
    code = f"{finding.severity} {finding.code}"
    yield Line(f"{code}: {finding.what}", STYLES[finding.severity], styled=len(code))
    yield Line(f"  -> {finding.remedy}")
    if finding.command:
        yield Line(f"  {finding.command}")


def rows_line(record: RunRecord) -> Line:
    """`rows: train 240 (bad 120, good 120), dev 60`: as they were read, with the most frequent labels."""
    parts = []
    for split, count in record.rows.items():
        labels = [f"{name} {rows:,}" for name, rows in record.labels.get(split, {}).items()]
        listed = first_of(labels, LABELS_SHOWN) if split == "train" else ""
        parts.append(f"{split} {count:,}" + f" ({listed})" * bool(listed))
    return Line(f"rows: {', '.join(parts)}")


def record_table(record: RunRecord) -> TextTable:
    """A run's scores next to its baselines and published scores of the same model and split."""
    metrics, headline = plain_metrics(record.scores[record.first_split]), record.headline
    rows, bold = list[dict[str, str]](), list[int]()
    for split, ours in record.scores.items():
        anchors = [(f"published: {one.source}", {one.metric: one.score}) for one in published_for(record, split)]
        bold.append(len(rows))
        for method, scores in [("this run", ours), *record.baselines[split].items(), *anchors]:
            shown = {name: _shown(record, name, scores.get(name)) for name in metrics}
            ends = record.metric(headline).ends(interval_of([record], split, headline)) if scores is ours else ""
            rows.append({"split": split, "method": method, **shown, f"95 % of {headline}": ends})
    title = f"{record.task}, run {record.id} ({record.model})"
    return TextTable.of_cells(title, rows, left=2, words=["method"], bold=bold)


def _shown(record: RunRecord, name: str, score: float | None) -> str:
    return "" if score is None else record.metric(name).shown(score)


def labels_table(record: RunRecord) -> TextTable | None:
    """A run's scores by label, or by entity type for tagging; None if its task is not scored so."""
    names = [name.rpartition("/") for name in record.scores[record.first_split] if "/" in name]
    labels, metrics = ([*dict.fromkeys(name[part] for name in names)] for part in (0, 2))
    rows = list[dict[str, str]]()
    for split, scores in record.scores.items():
        for label in labels:
            names_of = {metric: f"{label}/{metric}" for metric in metrics}
            shown = {metric: _shown(record, name, scores.get(name)) for metric, name in names_of.items()}
            rows.append({"split": split, "label": label, **shown})
    return TextTable.of_cells("by label", rows, right=metrics) if labels else None


def summary_table(records: Sequence[RunRecord]) -> TextTable:
    """For each group of runs that differ only in their seeds: mean, sd, the verdict's 95 % interval (of the
    headline), best, and the runs that are no better than a constant prediction.
    """
    groups, rows = by_setting(records), []
    for group, settings in zip(groups, settings_by_task([group[0] for group in groups]), strict=True):
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
    return TextTable.of_cells(
        "all runs", rows, right=[CONSTANT, "mean", "sd", "95 % interval", "best", "best baseline"]
    )


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


def layout_table(layout: "Layout") -> TextTable:
    """The meaning of each column of the user's data, and why it was inferred."""
    given = {
        "shape": layout.shape,
        "text": layout.text_setting.replace(",", ", ") if layout.rest else ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "labels": ", ".join(layout.names.values()) if layout.by_position else "",
        "order": " < ".join(layout.order),
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in given.items() if value]
    columns = ["", "meaning", "reason"]
    return TextTable(title="layout", columns=columns, rows=rows, words=columns[1:], headed=False)
