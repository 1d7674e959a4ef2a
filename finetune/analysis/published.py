"""Published scores, shown beside a run of the same model on the same split and beside no other."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from finetune.runs.recipe import flat
from finetune.runs.record import RunRecord

DEFAULTS = {"frozen": False, "layers": "last", "bilstm": False, "train.solver": "adam"}


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """A published score on a scale of 0 to 1: who published it, of which model on which split, and of how many rows,
    where that is known. Of the split `server` the labels are hidden, and no run here has it. `outdated` says that it is
    of another version of the set than the present one.
    """

    source: str
    model: str
    split: str
    metric: str
    score: float
    rows: int | None
    outdated: bool = False

    def is_of(self, split: str, rows: int) -> bool:
        """Whether it is a score of that very split."""
        return self.split == split and self.rows in (None, rows)


def structure(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of a recipe's settings those that make another kind of model, where they are not at their defaults."""
    given = flat(dict(settings))
    return {name: given[name] for name, default in DEFAULTS.items() if given.get(name, default) != default}


def anchors(*, task: str, settings: Mapping[str, Any] = MappingProxyType({})) -> list[Anchor]:
    """What was published for a task, of models whose `structure` is that of these settings."""
    return [
        Anchor(
            source=entry["source"],
            model=entry["model"],
            split=entry["split"],
            metric=metric,
            score=score / 100,
            rows=entry.get("rows", {}).get(task, _published()["rows"].get(entry["split"], {}).get(task)),
            outdated=task in entry.get("rows", {}),
        )
        for entry in _published()["anchor"]
        for metric, score in entry["scores"].get(task, {}).items()
        if structure(entry.get("settings", {})) == structure(settings)
    ]


def beside(record: RunRecord, split: str) -> list[Anchor]:
    """What was published of a run's own model on that very split; nothing for a run on part of the data."""
    if record.recipe.get("limit") is not None or split not in record.rows:
        return []
    known = anchors(task=record.task, settings=record.recipe)
    return [anchor for anchor in known if anchor.model == record.model and anchor.is_of(split, record.rows[split])]


@functools.cache
def _published() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
