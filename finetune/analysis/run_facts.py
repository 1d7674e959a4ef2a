"""Facts of runs that `show` and `run` print next to the scores: the verdict, six facts, and the record's fields."""

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
from finetune.runs.seeds import (
    best_by_task,
    best_run,
    by_setting,
    changed_settings,
    of_largest_sizes,
)
from finetune.runs.settings import SEEDS, lineage_words
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
    changed = {key: value for key, (value,) in changed_settings([record]).items() if key not in NOT_SETTINGS}
    rows = ", ".join(f"{split} {so_many(count)}" for split, count in record.rows.items())
    trained, weights = (record.parameters.get(name, 0) for name in ("trained", "all"))  # older records lack them
    part = f", {trained:,} of {weights:,} weights" if trained < weights else ""
    length = so_many(record.updates, "update") if record.updates else so_many(len(record.epochs), "epoch")
    return {
        "model": record.model,
        **lineage_words(record.lineage),
        "settings": as_plain_text(changed) or "defaults",
        "rows": rows,
        "data": record.data_origin,
        "trained": f"{length} in {duration(record.seconds.get('total', 0))} on {record.device}{part}, "
        f"{record.finished[:10]}",
        "folder": str(folder.path),
    }


def every_fact(record: RunRecord) -> dict[str, Any]:
    """The fields of a record that no table has."""
    return record.model_dump(exclude=IN_TABLES)


def verdict_lines(records: Sequence[RunRecord]) -> Iterator[Line]:
    """The verdict on the runs of each task: a bold sentence behind a sign, and a sentence on the score."""
    for name, verdict in verdicts(records):
        sign, colour = SIGNS[verdict.level]
        first, *others = filter(None, (verdict.judged, verdict.scored))
        yield Line(f"{sign} {name}{first}", f"bold {colour}")
        yield from (Line(f"  {text}") for text in others)


def verdicts(records: Sequence[RunRecord]) -> list[tuple[str, Verdict]]:
    """(a name for the runs, their verdict) of each task's best setting; the name is empty without other runs."""
    named, bests = list[tuple[str, Verdict]](), best_by_task(records)
    for task, groups, best, settings in bests:
        name = f"{task}: " * (len(bests) > 1) + f"best is {as_plain_text(settings)}: " * (len(groups) > 1)
        named.append((name, verdict_of(best)))
    return named


def cause_parts(diagnosis: Diagnosis) -> Iterator[Part]:
    """The most certain cause why a model is bad, its evidence, and the next command."""
    for cause in diagnosis.causes[:1]:
        yield Line(f"diagnosis: {cause.name}", "bold")
        yield Line(f"  {cause.evidence}")
        if cause.words:
            yield Command(cause.words)


def next_commands(records: Sequence[RunRecord]) -> list[list[str]]:
    """The words of commands for one or several runs. Different settings of a task are compared, with all their seeds.

    For runs of several sizes of the data it is `report`, whose page has their curve.
    """
    first, *others = [record.id for record in records]
    report = ["report", first, *others]
    if not others:
        return [*_use(records[0]), ["show", first], report]
    if len(of_largest_sizes(records)) < len(records):
        return [report]
    groups = by_setting(records)
    of_task = [group for group in groups if group[0].task == groups[0][0].task]
    seeds = ["--seeds"] * any(len(group) > 1 for group in of_task)
    commands = []
    if verdicts(records)[0][1].level != "worse" and (len(of_task) > 1 or len(groups) == 1):
        commands.append(["predict", best_run(records).id, "FILE"])
    if len(of_task) > 1:
        commands.append(["compare", first, of_task[-1][0].id, *seeds])
    if len(others) <= MOST_REPORTED:
        commands.append(report)
    return [*commands, ["show", first]]


def _use(record: RunRecord) -> list[list[str]]:
    """The commands that use a run's model, or that check the data if it is worse than a baseline.

    With few rows also the command that chooses rows to label. A pre-trained encoder is fine-tuned next.
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
