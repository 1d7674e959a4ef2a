"""Published scores, shown beside a run of the same model on the same split and beside no other."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """A published score on a scale of 0 to 1, and who published it."""

    source: str
    metric: str
    score: float


def anchors(*, task: str, model: str, split: str, rows: int) -> list[Anchor]:
    """What was published for exactly this model, task and split, and where that is known for so many rows."""
    return [
        Anchor(source=entry["source"], metric=metric, score=score / 100)
        for entry in _entries()
        if entry["model"] == model and entry["split"] == split
        for metric, score in entry["scores"].get(task, {}).items()
        if entry.get("rows", {}).get(task, rows) == rows
    ]


@functools.cache
def _entries() -> list[dict]:  # type: ignore[type-arg]
    text = Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["anchor"]  # type: ignore[no-any-return]
