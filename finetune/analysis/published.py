"""Published scores, shown only next to runs of the same model on the same split."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from finetune.runs.record import RunRecord
from finetune.runs.settings import DEFAULTS, flat

# The defaults of the settings of the architecture and the solver.
STRUCTURE = {name: DEFAULTS[name] for name in ("frozen", "layers", "bilstm", "train.solver")}


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """A published score, 0 to 1: its source, model, split, and number of rows if known.

    The split `server` has hidden labels, so no run here has it. `outdated`: on an older version of the data set.
    """

    source: str
    model: str
    split: str
    metric: str
    score: float
    rows: int | None
    outdated: bool = False

    @property
    def hidden(self) -> bool:
        """Whether it is on labels that only a server knows."""
        return self.split.startswith("server")

    def is_of(self, split: str, rows: int) -> bool:
        """Whether it is a score of that split with that many rows."""
        return self.split == split and self.rows in (None, rows)


def structure(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of STRUCTURE that differ from their defaults."""
    typed = flat(settings)
    return {name: typed[name] for name, default in STRUCTURE.items() if typed.get(name, default) != default}


def anchors(*, task: str, settings: Mapping[str, Any] = MappingProxyType({})) -> list[Anchor]:
    """Published scores of a task, by models with the same `structure`."""
    published = _published()
    return [
        Anchor(
            source=entry["source"],
            model=entry["model"],
            split=entry["split"],
            metric=metric,
            score=score / 100,
            rows=entry.get("rows", {}).get(task, published["rows"].get(entry["split"], {}).get(task)),
            outdated=task in entry.get("rows", {}),
        )
        for entry in published["anchor"]
        for metric, score in entry["scores"].get(task, {}).items()
        if structure(entry.get("settings", {})) == structure(settings)
    ]


def published_for(record: RunRecord, split: str) -> list[Anchor]:
    """Published scores of a run's model on that split; none for a run on part of the data."""
    is_own_data = (record.recipe.get("options") or {}).get("shape")  # before all scores are read
    if is_own_data or record.recipe.get("limit") is not None or split not in record.rows:
        return []
    of_task = anchors(task=record.task, settings=record.recipe)
    return [anchor for anchor in of_task if anchor.model == record.model and anchor.is_of(split, record.rows[split])]


@functools.cache
def _published() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
