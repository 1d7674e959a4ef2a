"""Tables of runs and of their data: scores, a list of runs, groups of seeds, the best of several settings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from finetune.analysis.published import published_for
from finetune.analysis.table import Line, NoteLine, Part, TextTable, as_plain_text
from finetune.data.messages import first_of, noun, so_many
from finetune.metrics.metric import plain_metrics
from finetune.runs.record import DataFinding, RunRecord
from finetune.runs.seeds import (
    best_by_task,
    by_setting,
    failures,
    mean_score,
    settings_by_task,
    shared_encoders,
    summarised,
)
from finetune.runs.verdict import interval_of

if TYPE_CHECKING:
    from finetune.task_types.columns import Layout

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}  # of findings
LABELS_SHOWN = 4
CONSTANT = "no better than constant"  # runs, as `failed` counts them


def record_parts(record: RunRecord) -> Iterator[Part]:
    """Findings on a run's data, its scores, scores by label if it has any, and notes."""
    for finding in record.findings:
        yield from finding_lines(finding)
    yield from filter(None, (record_table(record), labels_table(record)))
    yield from map(NoteLine, record.notes)


def finding_lines(finding: DataFinding) -> Iterator[Line]:
    """An error or warning on a run's data, and its remedy."""
    code = f"{finding.severity} {finding.code}"
    yield Line(f"{code}: {finding.what}", STYLES[finding.severity], styled=len(code))
    yield Line(f"  -> {finding.remedy}")
    if finding.command:
        yield Line(f"  {finding.command}")


def rows_line(record: RunRecord) -> Line:
    """`rows: train 240 (bad 120, good 120), dev 60`: the rows that were read, with the most frequent labels."""
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
    for split, of_run in record.scores.items():
        anchors = published_for(record, split)
        published = [(f"published: {anchor.source}", {anchor.metric: anchor.score}) for anchor in anchors]
        bold.append(len(rows))
        for method, scores in [("this run", of_run), *record.baselines[split].items(), *published]:
            shown = {name: _shown(record, name, scores) for name in metrics}
            ends = record.metric(headline).ends(interval_of([record], split, headline)) if scores is of_run else ""
            rows.append({"split": split, "method": method, **shown, f"95 % of {headline}": ends})
    title = f"{record.task}, run {record.id} ({record.model})"
    return TextTable.of_cells(title, rows, left=2, words=["method"], bold=bold)


def _shown(record: RunRecord, name: str, scores: Mapping[str, float]) -> str:
    return record.metric(name).shown(scores[name]) if name in scores else ""


def labels_table(record: RunRecord) -> TextTable | None:
    """A run's scores by label, or by entity type for tagging; None for a task without such scores."""
    names = [name.rpartition("/") for name in record.scores[record.first_split] if "/" in name]
    labels, metrics = ([*dict.fromkeys(name[part] for name in names)] for part in (0, 2))
    rows = list[dict[str, str]]()
    for split, scores in record.scores.items():
        for label in labels:
            cells = {metric: _shown(record, f"{label}/{metric}", scores) for metric in metrics}
            rows.append({"split": split, "label": label, **cells})
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
                summary = summarised([record.scores[split][name] for record in group], metric)
                bases = [base for record in group if (base := record.best_baseline(split, name)) is not None]
                rows.append({
                    "task": first.task, "model": first.model, "settings": as_plain_text(settings),
                    "runs": str(len(group)), CONSTANT: "" if count is None else str(count),
                    "metric": f"{split} {name}", "mean": shown(summary.mean),
                    "sd": "" if summary.sd is None else shown(summary.sd),
                    "95 % interval": metric.ends(interval_of(group, split, name)),
                    "best": shown(summary.best), "best baseline": shown(metric.spacing.mean(bases)) if bases else "",
                })  # fmt: skip
    return TextTable.of_cells(
        "all runs", rows, right=[CONSTANT, "mean", "sd", "95 % interval", "best", "best baseline"]
    )


def summary_lines(records: Sequence[RunRecord], *, diverged: int = 0) -> list[str]:
    """The best of several settings and the split that it was chosen on; `diverged` runs have no score."""
    verb = noun(diverged, "is", "are")
    lines = [f"{so_many(diverged, 'run')} diverged and {verb} excluded from the mean"] if diverged else []
    for task, groups, best, settings in best_by_task(records):
        lines += [f"{task}: {note}" for note in map(shared_encoders, groups) if note]
        if len(groups) > 1:
            first = best[0]
            metric, split = first.metric(first.headline), first.first_split
            others = [other for other in first.scores if other != split]
            lines.append(
                f"{task}: best of {len(groups)} settings on {split} by {metric.name}: {as_plain_text(settings)}"
                + "".join(f"; {metric.shown(mean_score(best, other, metric.name))} on {other}" for other in others)
                + f" (it was chosen on {split}, so its score there is optimistic)"
            )
    return lines


def layout_table(layout: "Layout") -> TextTable:
    """The meaning of each column of the user's data, and why it was inferred."""
    meanings = {
        "shape": layout.shape,
        "text": layout.text_setting.replace(",", ", ") if layout.rest else ", ".join(layout.text),
        "spans": ", ".join(layout.marked or layout.markers) + (f" (ends {ends})" if (ends := layout.span_ends) else ""),
        "label": ", ".join(layout.label) or "none was found",
        "labels": ", ".join(layout.names.values()) if layout.by_position else "",
        "order": " < ".join(layout.order),
        "id": layout.id,
        "group": layout.group,
    }
    rows = [(name, value, layout.reasons.get(name, "")) for name, value in meanings.items() if value]
    columns = ["", "meaning", "reason"]
    return TextTable(title="layout", columns=columns, rows=rows, words=columns[1:], headed=False)
