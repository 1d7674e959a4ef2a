"""What is known of a search's runs from their folders: finished ones, unfinished ones, scores after an epoch."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from finetune.commands.search.proposals import key_of
from finetune.commands.search.space import Space
from finetune.commands.search.trial import SeedRun
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.events import logged
from finetune.runs.folder import RECORD, RunFolder, folder_name
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_diff import DEFAULTS
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records
from finetune.runs.toml import flat
from finetune.task_types.options import option_names
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.prepared_run import PlannedRun, plan_run

READ = (  # settings that decide rows, weights, task and what is learned
    "task", "options", "model", "limit", "train_share", "held_out", "keep_labels", "rehearse", "distil",
)  # fmt: skip


@dataclass(kw_only=True)
class SeedRuns:
    """Makes the runs of settings, one a seed, with their ids; data and weights are read once for all.

    `base` is the recipe that the settings are put into; seeds are counted from its own.
    """

    base: ResolvedRun
    seeds: int
    source: Source
    device: str | None = None
    read: dict[str, PlannedRun] = field(default_factory=dict)

    def of(self, settings: Mapping[str, Any]) -> list[SeedRun]:
        """The runs. Raises UserError for settings that do not go together, and for data that cannot be read."""
        first = self.base.recipe.seed
        return [self._run({**settings, "seed": seed}) for seed in range(first, first + self.seeds)]

    def plan(self, planned: ResolvedRun) -> PlannedRun:
        """The rows, weights and id of a run."""
        recipe = planned.recipe
        decides = {key: value for key, value in recipe.model_dump().items() if key in READ}
        seed = recipe.seeds[1] if recipe.train_share < 1 else None
        key = key_of({**decides, "seed": seed, "precision": recipe.train.precision})
        if key not in self.read:
            self.read[key] = plan_run(planned, source=self.source, device=self.device)
        return replace(self.read[key], recipe=recipe)

    def _run(self, settings: Mapping[str, Any]) -> SeedRun:
        base = self.base
        recipe = base.recipe.with_settings(dict(settings), origin=base.name, options=option_names)
        planned = base.with_recipe(recipe)
        return SeedRun(planned=planned, id=self.plan(planned).id)


def record_of(run: SeedRun, out: Path) -> RunRecord | None:
    """The record of a run; None where it is not finished. Raises UserError where it is damaged."""
    return folder_of(run, out).record()


def score_after(run: SeedRun, epoch: int, out: Path) -> float | None:
    """The headline score of a run after an epoch, of one that stopped early its last; None where it is not known."""
    folder = folder_of(run, out)
    if (record := folder.record()) is not None:
        return float(record.epochs[min(epoch, len(record.epochs)) - 1]["headline"])
    scores = [float(one["headline"]) for one in _logged(folder.events, "epoch") if one.get("epoch") == epoch]
    return scores[-1] if scores else None


def fitting(
    out: Path, runs: SeedRuns, space: Space, *, left: Collection[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Settings of the space of which all seeds are finished, the oldest first, and those with unfinished runs, without
    the runs that were `left` so.

    A run fits if its id is that of the base recipe with these settings.
    """
    folder = out / folder_name(runs.base.task.name)
    finished = [file.parent for file, _ in readable_records(sorted(folder.glob(f"*/{RECORD}")), load_record)]
    begun = sorted(file.parent for file in folder.glob("*/events.jsonl") if not (file.parent / RECORD).is_file())
    told = _of_folders([(path, load_record(path / RECORD).recipe) for path in finished], runs, space)
    done = {path.name: load_record(path / RECORD).finished for path in finished}
    whole = {
        key: max(done[run.id] for run in some) for key, (_, some) in told.items() if all(r.id in done for r in some)
    }
    begun = [path for path in begun if path.name not in left]
    started = [(path, dict(one["recipe"])) for path in begun for one in _logged(path / "events.jsonl", "start")[:1]]
    rest = _of_folders(started, runs, space)
    return (
        [told[key][0] for key in sorted(whole, key=lambda key: (whole[key], key))],
        [rest[key][0] for key in sorted(rest)],
    )


def _of_folders(
    found: Sequence[tuple[Path, Mapping[str, Any]]], runs: SeedRuns, space: Space
) -> dict[str, tuple[dict[str, Any], list[SeedRun]]]:
    """The settings and runs, by their key, that run folders with these recipes belong to."""
    ids = {path.name for path, _ in found}
    fitting: dict[str, tuple[dict[str, Any], list[SeedRun]]] = {}
    for settings in _settings_in([recipe for _, recipe in found], space):
        with suppress(UserError):  # settings that do not go together
            made = runs.of(settings)
            if ids & {run.id for run in made}:
                fitting[key_of(settings)] = settings, made
    return fitting


def _settings_in(recipes: Sequence[Mapping[str, Any]], space: Space) -> Iterator[dict[str, Any]]:
    """The different settings of recipes that are in the space."""
    seen = set()
    for recipe in recipes:
        every = DEFAULTS | flat({key: value for key, value in recipe.items() if key in Recipe.model_fields})
        settings = {key: every[key] for key in space if key in every}
        if len(settings) == len(space) and all(axis.has(settings[key]) for key, axis in space.items()):
            if (key := key_of(settings)) not in seen:
                yield settings
            seen.add(key)


def folder_of(run: SeedRun, out: Path) -> RunFolder:
    """The folder of a run."""
    return RunFolder.of(out, run.planned.task.name, run.id)


def _logged(file: Path, name: str) -> list[dict[str, Any]]:
    """The events of that name in a log; lines that cannot be parsed are left out."""
    found = []
    with suppress(OSError):
        for line in file.read_bytes().splitlines():
            event = logged(line)
            found += [event] if event is not None and event["event"] == name else []
    return found
