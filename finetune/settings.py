"""A run's settings beside the defaults of a recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.recipe import Recipe, flat
from finetune.record import RunRecord


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One key, its value in each run, and its default."""

    key: str
    values: Sequence[Any]
    default: Any

    @property
    def changed(self) -> bool:
        """Whether a run has another value than the default."""
        return any(value != self.default for value in self.values)


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Every setting of a recipe and option of the task; a key that an older record does not know has its default."""
    defaults = flat(Recipe(task="any").model_dump(exclude={"grid", "options", "task"}))
    every = [flat({**record.recipe, "options": record.recipe.get("options") or {}}) for record in records]
    keys = dict.fromkeys([*defaults, *(key for settings in every for key in settings)])
    return [
        Setting(key=key, values=[own.get(key, defaults.get(key)) for own in every], default=defaults.get(key))
        for key in keys
        if key != "task"
    ]
