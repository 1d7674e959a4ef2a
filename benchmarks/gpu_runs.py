"""The runs that fill the tables of the documents: which ones, and their records in results/."""

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from finetune.api.planning import plan
from finetune.data.messages import so_many
from finetune.data.source import Source, source_of
from finetune.runs.events import Event, Note
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run_many import run_all
from finetune.training.run_options import RunOptions

ROOT = Path(__file__).resolve().parents[1]
RECORD = "record.json"


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Runs of recipes with these settings and so many seeds; their data may be in a folder of the data folder."""

    targets: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    data: str = ""

    def source(self, data: Path | None) -> Source:
        """Where its rows are read."""
        source = source_of(data)
        return replace(source, folder=source.folder / self.data) if self.data and source.folder else source


GLUE = ("cola", "sst2", "stsb", "mrpc", "rte", "wnli")  # those whose files are at hand
TAGS = {"model": "minilm", "max_length": 128, "train.batch_size": 32, "train.epochs": 3, "train.learning_rate": 2e-4}
SPANS = {"model": "minilm", "train.batch_size": 16, "train.epochs": 2, "train.learning_rate": 2e-4}
CHOICES = {"model": "minilm", "train.learning_rate": 1e-4, "options.fold": 0}
SWEEPS: dict[str, list[Sweep]] = {
    "table-7": [Sweep(targets=("ablation-feature-based",), settings={"model": "minilm"}, seeds=5)],
    "seeds": [
        Sweep(
            targets=tuple(f"glue-{task}" for task in GLUE),
            settings={"model": "minilm", "train.learning_rate": 2e-4},
            seeds=5,
        ),
        Sweep(targets=("conll-2003",), settings={**TAGS, "options.context": "sentence"}, seeds=5),
        Sweep(
            targets=("conll-2003",),
            settings={**TAGS, "max_length": 512, "train.batch_size": 2},
            seeds=5,
        ),
        Sweep(targets=("wnut-17",), settings=TAGS, seeds=5),
        Sweep(targets=("squad-v1", "squad-v2"), settings=SPANS, seeds=3, data="squad-by-article"),
        *(Sweep(targets=("codah",), settings={**CHOICES, "options.fold": fold}, seeds=3) for fold in range(5)),
    ],
    "own-encoder": [Sweep(targets=("table-5-gpu", "table-6-gpu"))],
}


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Where runs are written, where their records are kept, the data folder, and the device.

    With a `limit` of rows it is a rehearsal: each task and each model once, for one epoch.
    """

    runs: Path
    records: Path
    data: Path | None
    device: str
    limit: int | None = None


def finished_runs(part: str, setup: Setup) -> dict[str, Any]:
    """Trains what is not finished, and keeps the records: how many there are, what failed, and the seconds."""
    started, found, failed = time.perf_counter(), list[str](), list[str]()
    _bring(setup)
    for sweep in SWEEPS[part]:
        options = RunOptions(source=sweep.source(setup.data), out=setup.runs, device=setup.device)
        runs = _planned(sweep, setup)
        print(f"{part}: {', '.join(sweep.targets)}: {so_many(len(runs), 'run')}", flush=True)
        records, failures = run_all(runs, options, watch=_shown)
        found += [f"{record.task}/{record.id}" for record in records]
        failed += map(str, failures)
        _keep(setup)
    return {"runs": sorted(set(found)), "failed": failed, "seconds": time.perf_counter() - started}


def _planned(sweep: Sweep, setup: Setup) -> list[ResolvedRun]:
    if setup.limit is None:
        return plan(sweep.targets, sweep.settings, seeds=sweep.seeds, out=setup.runs)
    short = {**sweep.settings, "limit": setup.limit, "train.epochs": 1}
    runs = list(_each_once(plan(sweep.targets, short, out=setup.runs)))
    firsts = {id(one.first): _short(one.first, setup.limit) for one in runs if one.first is not None}
    return [one if one.first is None else replace(one, first=firsts[id(one.first)]) for one in runs]


def _each_once(runs: Sequence[ResolvedRun]) -> Iterator[ResolvedRun]:
    """Those with a task, or with a model and way to read it, that none before has."""
    seen = set[str]()
    for one in runs:
        recipe = one.recipe
        kinds = {recipe.task, f"{recipe.model} {recipe.frozen} {recipe.bilstm} {recipe.layers}"}
        if kinds - seen:
            yield one
        seen |= kinds


def _short(first: ResolvedRun, limit: int) -> ResolvedRun:
    """Pre-training of two small updates."""
    train = first.recipe.train.model_copy(update={"updates": 2, "batch_size": 8})
    return first.with_recipe(first.recipe.model_copy(update={"limit": limit, "train": train}))


def _bring(setup: Setup) -> None:
    """Copies the records of this kind of device, so that their runs count as finished; a model to start from is
    trained again where it is not there.
    """
    for record in all_records(setup.records):
        on = "cpu" if record.device.startswith("cpu") else "cuda"
        if on == setup.device and not record.is_pretraining:
            _copy(setup.records, setup.runs, record.task, record.id)


def _keep(setup: Setup) -> None:
    """Copies the records of all finished runs; those of the same recipe, of a CPU or earlier rows, are replaced."""
    made = {_recipe(record): record for record in all_records(setup.runs)}
    for earlier in all_records(setup.records):
        if _recipe(earlier) in made and made[_recipe(earlier)].id != earlier.id:
            (setup.records / earlier.task / earlier.id / RECORD).unlink()
    for record in made.values():
        _copy(setup.runs, setup.records, record.task, record.id)


def _recipe(record: RunRecord) -> tuple[str, str]:
    """The task and what its recipe sets; later records have more settings at their defaults."""
    defaults = Recipe(task=record.task).model_dump(mode="json")
    return record.task, json.dumps(_set(record.recipe, defaults), sort_keys=True)


def _set(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: _set(value, defaults.get(key) or {}) for key, value in given.items() if isinstance(value, dict)}
    values = {key: value for key, value in given.items() if value != defaults.get(key)}
    return {key: value for key, value in (values | inner).items() if value not in (None, {})}


def _copy(here: Path, there: Path, task: str, run: str) -> None:
    target = there / task / run / RECORD
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(here / task / run / RECORD, target)


def _shown(event: Event) -> None:
    if isinstance(event, Note):
        print(event.text, flush=True)
