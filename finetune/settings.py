"""A run's settings beside the defaults of a recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.recipe import Recipe, flat
from finetune.record import RunRecord

DEFAULTS = flat(Recipe(task="any").model_dump(exclude={"grid", "options", "task"}))


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


def applied(record: RunRecord) -> dict[str, Any]:
    """Every setting and option (dotted keys) as it applied: what an older record does not know has its default."""
    options = {**(record.recipe.get("options") or {}), **record.options}
    return DEFAULTS | flat({**record.recipe, "options": options})


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Every setting of a recipe and option of the task; a key that an older record does not know has its default."""
    every = [flat({**record.recipe, "options": record.recipe.get("options") or {}}) for record in records]
    keys = dict.fromkeys([*DEFAULTS, *(key for settings in every for key in settings)])
    return [
        Setting(key=key, values=[own.get(key, DEFAULTS.get(key)) for own in every], default=DEFAULTS.get(key))
        for key in keys
        if key != "task"
    ]
