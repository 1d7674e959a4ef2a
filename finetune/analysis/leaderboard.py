"""A leaderboard of a task from records: a line for each model and its settings, the best first.

Runs that were scored on other rows (another file, a limit, another version of a task) are separate groups. `compare`
tests, by their predictions, whether two lines differ by more than chance.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from finetune.analysis.table import TextTable
from finetune.data.messages import noun, so_many
from finetune.runs.record import RunRecord, names_only
from finetune.runs.seeds import by_setting, differing_settings, mean_score, short_settings
from finetune.runs.settings import PREFIX
from finetune.runs.verdict import FEW_ROWS, Verdict, baseline_words, verdict_of

AGAINST = {"better": "better than", "worse": "worse than", "unclear": "unclear against", "alone": ""}
NAMES = ("data", "", "model", "settings")  # columns that are not numbers


def leaderboard(records: Sequence[RunRecord]) -> TextTable:
    """The lines of a task's runs below the rows that they were scored on, the most training rows first."""
    boards: dict[Any, list[list[RunRecord]]] = {}
    for group in by_setting(records):
        first = group[0]
        rows = frozenset((record.data, record.rows.get(first.first_split)) for record in group)
        objective = first.options.get("objective")  # perplexities from other contexts do not compare
        boards.setdefault((first.task_version, rows, first.first_split, first.headline, objective), []).append(group)
    ordered = sorted(boards.values(), key=lambda groups: (_train_rows(groups[0]), len(groups)), reverse=True)
    cells, numbers, behind = list[dict[str, str]](), list[dict[str, Any]](), []
    for groups in ordered:
        firsts = [group[0] for group in groups]
        first, split = firsts[0], firsts[0].first_split
        metric = first.metric(first.headline)
        title = f"{metric.heading} on {first.rows.get(split, 0):,} rows of {split}"
        title += f", {_train_rows(groups[0]):,} training rows, data {first.data[:8]}" * (len(ordered) > 1)
        verdicts = [verdict_of(group, split=split) for group in groups]
        lines = zip(verdicts, differing_settings(firsts), strict=True)
        ranked = sorted(lines, key=lambda line: metric.rank(line[0].score), reverse=True)
        for rank, (verdict, settings) in enumerate(ranked, start=1):
            number = _numbers(verdict, settings)
            cells.append({"data": title, "": str(rank), **_cells(number, verdict)})
            numbers.append(number)
            named = ", ".join(filter(None, [number["model"], number["settings"]]))
            behind.append(f"{named}: {noun(len(verdict.records), 'run')} {number['runs']}")
    headings = list(dict.fromkeys(name for row in cells for name in row))
    shown = [name for name in headings if name in NAMES or any(row.get(name) for row in cells)]
    fewest = min(groups[0][0].rows.get(groups[0][0].first_split, 0) for groups in ordered)
    notes = [
        f"runs on {len(ordered)} versions of the data are not compared with each other" * (len(ordered) > 1),
        "95 %: the chance of rows and of seeds, as in the verdict; `finetune compare` tests whether two lines differ",
        "the best of a group was chosen by these scores, so its own is a little too good",
        f"only {so_many(fewest)} of dev: intervals are too narrow for so few" * (0 < fewest < FEW_ROWS),
    ]
    return TextTable.of_cells(
        f"{records[0].task}: {so_many(len(cells), 'setting')}, {so_many(len(records), 'run')}",
        [{name: row.get(name, "") for name in shown} for row in cells],
        numbers=numbers, left=len(NAMES), grouped=True, notes=[*filter(None, notes)], behind=behind,
    )  # fmt: skip


def _train_rows(group: Sequence[RunRecord]) -> int:
    return group[0].rows.get("train", 0)


def _numbers(verdict: Verdict, settings: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a line, scores as computed: 0.843 for 84.3 points."""
    group, (low, high) = verdict.records, verdict.interval or (None, None)
    first = group[0]
    encoder = [f"encoder trained on {first.lineage.task}"] if first.lineage is not None else []
    settings = {key: value for key, value in settings.items() if not key.startswith(PREFIX)}
    times = [record.seconds["training"] for record in group if "training" in record.seconds]
    return {
        "task": first.task, "data": first.data[:8], "train_rows": _train_rows(group), "split": verdict.split,
        "rows": first.rows.get(verdict.split, 0), "metric": verdict.metric.name,
        "model": names_only(first.model if first.lineage is None else first.lineage.checkpoint),
        "settings": ", ".join([*encoder, *short_settings(names_only(settings))]), "seeds": len(group),
        "score": verdict.score, "low": low, "high": high, "verdict": verdict.level,
        "baseline": verdict.baseline and baseline_words(verdict.baseline), "baseline_score": verdict.baseline_score,
        **{f"{split}_score": mean_score(group, split, verdict.metric.name) for split in _others(verdict)},
        "parameters": first.parameters.get("all"), "seconds": fmean(times) if times else None,
        "runs": ", ".join(record.id for record in group),
    }  # fmt: skip


def _others(verdict: Verdict) -> list[str]:
    return [split for split in verdict.records[0].scores if split != verdict.split]


def _cells(number: dict[str, Any], verdict: Verdict) -> dict[str, str]:
    metric, baseline = verdict.metric, ""
    if verdict.baseline_score is not None:
        level = AGAINST[verdict.level] if verdict.difference else "equal to"
        baseline = f"{level} {number['baseline']} {metric.shown(verdict.baseline_score)}"
    return {
        "model": number["model"], "settings": number["settings"], "seeds": str(number["seeds"]),
        "score": metric.shown(verdict.score), "95 % interval": metric.ends(verdict.interval),
        "against baseline": baseline, **{split: metric.shown(number[f"{split}_score"]) for split in _others(verdict)},
        "parameters": "" if number["parameters"] is None else f"{number['parameters']:,}",
        "seconds": "" if number["seconds"] is None else f"{number['seconds']:,.0f}",
    }  # fmt: skip
