"""The runs of a soup, and whether their weights can be averaged. Needs no torch."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.data.messages import shown, so_many
from finetune.errors import UserError
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, no_run, runs_of
from finetune.runs.recipe import load_recipe
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.seeds import groups
from finetune.task_types.options import option_names
from finetune.task_types.resolved_run import ResolvedRun, resolved_run
from finetune.task_types.task import Task

BUILDS = ("keep_layers", "layers", "bilstm", "pooling", "max_length", "tokenizer")  # settings that make the model
DIGITS = 10  # of an id
LABELS_SHOWN = 3
TEST = "test"  # the one setting: a file of rows that chose nothing


@dataclass(frozen=True, kw_only=True)
class Members:
    """The folders of the runs and their records, and the run that the first of them was."""

    runs: tuple[RunFolder, ...]
    records: tuple[RunRecord, ...]
    resolved: ResolvedRun

    @property
    def id(self) -> str:
        """The id of the soup: a hash of those of its runs and of what it is scored on."""
        facts = [sorted(record.id for record in self.records), self.resolved.recipe.options]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:DIGITS]


def members(names: Sequence[str], settings: Mapping[str, Any], out: Path) -> Members:
    """The runs that are named. Raises UserError for fewer than two, and for some that did not start equal."""
    folders = list({run.path.resolve(): run for name in names for run in _named(name, out)}.values())
    if len(folders) < 2:
        raise UserError(
            f"soup: {', '.join(names)} is one run, and an average needs several",
            "Name at least two runs, or train some that differ in seeds alone: finetune run ... --seeds 3",
        )
    if unknown := sorted(settings.keys() - {TEST}):
        raise UserError(f"soup: unknown setting '{unknown[0]}'", f"Set {TEST}=FILE, or nothing")
    records = [load_record(run.record_file) for run in folders]
    for run, record in zip(folders, records, strict=True):
        run.require_model()
        if record.learned:
            raise UserError(
                f"soup: run {record.id} has learned the rows of {' and '.join(record.learned)} too, which would score"
                " the soup",
                "Train it with dev=FILE, or average runs without preset=few-labels",
            )
        _require_equal(records[0], record)
    recipe = load_recipe(folders[0].path / "recipe.toml", options=option_names)
    resolved = resolved_run(recipe)
    if settings:
        recipe = recipe.with_settings(dict(settings), origin="settings", options=option_names)
        trained, resolved = resolved, resolved_run(recipe)
        _require_known_labels(trained.task, resolved.task, settings[TEST])
    return Members(runs=tuple(folders), records=tuple(records), resolved=resolved)


def _named(name: str, out: Path) -> list[RunFolder]:
    """The run of a folder or an id; of a task or data the latest runs that differ from each other in seeds alone.

    Raises UserError where there is none.
    """
    if (one := find_run(name, out)) is not None:
        return [one]
    found = [(run, load_record(run.record_file)) for run in runs_of(name, out)]
    records = [record for _, record in found if "soup" not in record.recipe]
    if not records:
        raise no_run(name, out)
    several = (group for group in groups(records) if len(group) > 1)
    ids = {record.id for record in next(several, records[:1])}
    return [run for run, record in found if record.id in ids]


def _require_known_labels(trained: Task, scored: Task, file: str) -> None:
    """Raises UserError for a file with labels that the runs did not learn, for which their heads have no place."""
    if unknown := [shown(name) for name in scored.label_names if name not in trained.label_names]:
        what = f"{so_many(len(unknown), 'label')} that the runs did not learn: {', '.join(unknown[:LABELS_SHOWN])}"
        raise UserError(f"soup: {file} has {what}", "Correct these rows, or leave them out")


def _require_equal(first: RunRecord, other: RunRecord) -> None:
    """Raises UserError, with the two values, where two runs did not start with the same weights and rows."""
    facts = {
        "task": (first.task, other.task),
        "task version": (first.task_version, other.task_version),
        "rows": (first.data, other.data),
        "encoder": (first.weights, other.weights),
        **{name: (first.recipe.get(name), other.recipe.get(name)) for name in BUILDS},
    }
    for name, (ours, theirs) in facts.items():
        if ours != theirs:
            shown = (first.model, other.model) if name == "encoder" else (ours, theirs)
            raise UserError(
                f"soup: {first.id} and {other.id} did not start equal: {name} {shown[0]}, and {shown[1]}",
                "Name runs of one encoder on the same rows, such as the seeds of one `finetune run`",
            )
