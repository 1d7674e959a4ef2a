"""What was compared, in words: how it was, and how it is now."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.data.messages import percent
from finetune.inference.shift.alike import Tested, distances
from finetune.inference.shift.measures import OF_PARTS, WRITING, Measures, language_names
from finetune.inference.shift.reference import PREDICTIONS, STATES

OTHERS = "other labels"
LARGEST = 2  # changes that are shown of each


@dataclass(frozen=True, kw_only=True)
class Change:
    """What was compared, its p value by Holm's method, and its largest changes in words."""

    name: str
    p: float
    distance: float
    was: str
    now: str

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def changes(every: Sequence[Tested], old: Measures, new: Measures, labels: Sequence[str]) -> Iterator[Change]:
    """A change for each test, in their order."""
    for one in every:
        was, now = _facts(one.name, old, old, labels), _facts(one.name, new, old, labels)
        kept = _largest(was, now)
        yield Change(
            name=one.name, p=one.corrected, distance=one.distance,
            was=", ".join(f"{name} {_shown(was[name])}" for name in kept),
            now=", ".join(f"{name} {_shown(now[name])}" for name in kept),
        )  # fmt: skip


def _facts(name: str, measures: Measures, old: Measures, labels: Sequence[str]) -> dict[str, float]:
    """The means of what is measured, by name."""
    values = measures[name].astype(np.float64)
    if name == STATES:
        far = 1.0 if measures is old else float(distances(old[STATES], measures[STATES]).mean())
        return {"distance to dev rows": far}
    if name == "length":
        return dict(zip(("tokens", "characters"), np.exp(values).mean(0).tolist(), strict=True))
    if name == PREDICTIONS:
        return _of_predictions(values, labels)
    means = values.mean(0).tolist()
    if name == "vocabulary":
        return {"unknown tokens": Share(means[0]), "tokens a character": means[1]}
    names = {"language": language_names(), "writing": (*WRITING, "damage"), "columns": OF_PARTS}[name]
    logarithms = {key: float(np.exp(mean)) for key, mean in zip(names, means, strict=True) if key.startswith("length")}
    return {key: Share(mean) for key, mean in zip(names, means, strict=True)} | logarithms


def _of_predictions(values: NDArray[np.float64], labels: Sequence[str]) -> dict[str, float]:
    means = values.mean(0).tolist()
    shares = {label: Share(mean) for label, mean in zip((*labels, OTHERS), means, strict=False)}
    return {**shares, "confidence": Share(0.5 + means[-2]), **({"mean": means[-1]} if values[:, -1].any() else {})}


class Share(float):
    """A number that is shown in percent."""


def _largest(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The names of what changed most: numbers by their ratio, shares by their difference."""

    def change(name: str) -> float:
        if isinstance(was[name], Share):
            return abs(float(now[name]) - float(was[name]))
        return abs(float(now[name]) - float(was[name])) / max(1e-9, abs(float(was[name])))

    return sorted(was, key=change, reverse=True)[:LARGEST]


def _shown(value: float) -> str:
    return percent(value) if isinstance(value, Share) else f"{value:.3g}"
