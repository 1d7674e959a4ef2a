"""What `show` and `run` print of runs next to their scores: the verdict, six facts, and every field of the record."""

from collections.abc import Iterator, Sequence
from typing import Any

from finetune.analysis.diagnosis import Diagnosis
from finetune.analysis.run_figures import Figures
from finetune.analysis.table import Command, Line, Part, as_plain_text
from finetune.data.messages import so_many
from finetune.data.paths import is_data
from finetune.runs.events import duration
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import SEEDS, lineage_words
from finetune.runs.seeds import best_group, best_run, by_setting, differing_settings, of_largest_sizes, settings_of
from finetune.runs.verdict import Verdict, verdict_of

IN_TABLES = {"scores", "baselines", "epochs", "headline", "notes", "margins"}  # fields of a record
FEW_ROWS = 1_000  # training rows below which more labels are what helps most
MOST_REPORTED = 9  # runs after the first in a suggested command
NOT_SETTINGS = ("model", "task", *SEEDS)
SIGNS = {  # of a verdict: the sign and its colour
    "better": ("✓", "green"), "unclear": ("?", "yellow"), "worse": ("✗", "red"), "alone": ("·", ""),
}  # fmt: skip


def six_facts(folder: RunFolder, record: RunRecord) -> dict[str, Any]:
    """The facts of a run that most readers want."""
    changed = [one for one in settings_of([record]) if one.changed and one.key not in NOT_SETTINGS]
    rows = ", ".join(f"{split} {so_many(count)}" for split, count in record.rows.items())
    length = so_many(record.updates, "update") if record.updates else so_many(len(record.epochs), "epoch")
    return {
        "model": record.model,
        **lineage_words(record.lineage),
        "settings": ", ".join(f"{one.key} {as_plain_text(one.values[0])}" for one in changed) or "defaults",
        "rows": rows,
        "data": record.data_origin,
        "trained": f"{length} in {duration(record.seconds.get('total', 0))} on {record.device}{_part(record)}, "
        f"{record.finished[:10]}",
        "folder": str(folder.path),
    }


def every_fact(record: RunRecord) -> dict[str, Any]:
    """All of a record that no table has."""
    return record.model_dump(exclude=IN_TABLES)


def verdict_lines(records: Sequence[RunRecord]) -> Iterator[Line]:
    """What the runs of each task are worth: a bold sentence behind a sign, and one on the score."""
    for whose, verdict in verdicts(records):
        sign, colour = SIGNS[verdict.level]
        first, *others = (text for text in (verdict.judged, verdict.scored) if text)
        yield Line(f"{sign} {whose}{first}", f"bold {colour}")
        yield from (Line(f"  {text}") for text in others)


def verdicts(records: Sequence[RunRecord]) -> list[tuple[str, Verdict]]:
    """The verdict of each task's runs against the best baseline; of several settings the best one's."""
    return [(whose, verdict_of(best)) for whose, best in best_of_tasks(records)]


def best_of_tasks(records: Sequence[RunRecord]) -> list[tuple[str, Sequence[RunRecord]]]:
    """Of each task the runs with the best settings, and a name for them where there are others."""
    found: list[tuple[str, Sequence[RunRecord]]] = []
    tasks = dict.fromkeys(record.task for record in records)
    for task in tasks:
        mine = by_setting(record for record in of_largest_sizes(records) if record.task == task)
        best = best_group([record for group in mine for record in group])
        which = as_plain_text(differing_settings([group[0] for group in mine])[mine.index(best)])
        names = [*[task] * (len(tasks) > 1), *[f"best is {which}"] * (len(mine) > 1)]
        found.append(("".join(f"{name}: " for name in names), best))
    return found


def cause_parts(diagnosis: Diagnosis) -> Iterator[Part]:
    """The most certain cause why a model is bad, what shows it, and the command that comes next."""
    for cause in diagnosis.causes[:1]:
        yield Line(f"diagnosis: {cause.name}", "bold")
        yield Line(f"  {cause.evidence}")
        if cause.words:
            yield Command(cause.words)


def next_commands(records: Sequence[RunRecord]) -> list[list[str]]:
    """Commands for a run, or for several, by their words; those of different settings of a task are compared, with all
    their seeds.

    For runs of several sizes of the data it is the page that has their curve.
    """
    first, *others = [record.id for record in records]
    report = ["report", first, *others]
    if not others:
        return [*_use(records[0]), ["show", first], report]
    if len(of_largest_sizes(records)) < len(records):
        return [report]
    mine, *groups = by_setting(records)
    same = [group for group in groups if group[0].task == mine[0].task]
    seeds = ["--seeds"] * any(len(group) > 1 for group in (mine, *same))
    useful = verdicts(records)[0][1].level != "worse"
    commands = [["predict", best_run(records).id, "FILE"]] if useful and (same or not groups) else []
    commands += [["compare", first, same[-1][0].id, *seeds]] if same else []
    commands += [report] if len(others) <= MOST_REPORTED else []
    return [*commands, ["show", first]]


def _use(record: RunRecord) -> list[list[str]]:
    """The commands for a run's model: to use it, or where it is worse than a baseline to check the data, and where
    rows are few to choose more of them to label. A pre-trained encoder is fine-tuned next.
    """
    if record.is_pretraining:
        return [["run", "FILE", f"model={record.id}"]]
    task = str(record.recipe["task"])
    worse = verdict_of([record]).level == "worse"
    commands = [] if worse else [["predict", record.id, "FILE"], ["serve", record.id]]
    if is_data(task) and record.labels and record.rows.get("train", 0) < FEW_ROWS:
        commands.append(["label-next", record.id, "FILE", "--rows", "50", "-o", "next.csv"])
    if is_data(task) and worse:
        commands.append([*Figures(record, None, 1).checked()])
    return commands


def _part(record: RunRecord) -> str:
    trained, every = record.trained_of_all
    return f", {trained:,} of {every:,} weights" if trained < every else ""
