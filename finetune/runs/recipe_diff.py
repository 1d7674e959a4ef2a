"""Compares settings of runs with the defaults of a recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.toml import flat, typed_settings

DEFAULTS = flat(Recipe(task="any").model_dump(exclude={"grid", "options", "task"}))
LISTED_APART = ("task", "model", "seed", "init_seed", "data_seed")  # a list of runs has columns of them


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One key, its value in each run, and its default."""

    key: str
    values: Sequence[Any]
    default: Any

    @property
    def changed(self) -> bool:
        """Whether any run's value differs from the default."""
        return any(value != self.default for value in self.values)


def applied(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """For each record every setting and option (dotted keys) as it applied, without what was chosen on dev.

    A setting that an older record lacks has its default; an option the value that the other records of the
    same version of the task have by default, where these agree. `lineage.task` and others are of the run whose encoder
    it started from.
    """
    declared: dict[tuple[str, int], dict[str, list[Any]]] = {}
    for record in records:
        of_task = declared.setdefault((record.task, record.task_version), {})
        for name, value in _options(record).items():
            if name not in (record.recipe.get("options") or {}):
                of_task.setdefault(name, []).append(value)
    usual = {
        task: {name: values[0] for name, values in options.items() if all(value == values[0] for value in values)}
        for task, options in declared.items()
    }
    return [
        DEFAULTS
        | flat({**record.recipe, "options": usual[record.task, record.task_version] | _options(record)})
        | (record.lineage.flat if record.lineage else {})
        for record in records
    ]


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Every setting of a recipe and option of the task; a key that an older record lacks has its default."""
    every = [flat({**record.recipe, "options": record.recipe.get("options") or {}}) for record in records]
    keys = dict.fromkeys([*DEFAULTS, *(key for settings in every for key in settings)])
    return [
        Setting(key=key, values=[own.get(key, DEFAULTS.get(key)) for own in every], default=DEFAULTS.get(key))
        for key in keys
        if key != "task"
    ]


def short_settings(settings: Mapping[str, Any]) -> list[str]:
    """The settings that are not at their default, by the last part of their names: `learning_rate=0.0002`; those that
    other columns of a list show are left out.
    """
    changed = {key: value for key, value in settings.items() if value is not None and value != DEFAULTS.get(key)}
    return typed_settings({key.rpartition(".")[2]: value for key, value in changed.items() if key not in LISTED_APART})


def _options(record: RunRecord) -> dict[str, Any]:
    """The task's options that have a value which the recipe, or the task's declaration, set."""
    declared = {
        name: value for name, value in record.options.items() if value is not None and name not in record.chosen
    }
    return declared | (record.recipe.get("options") or {})
