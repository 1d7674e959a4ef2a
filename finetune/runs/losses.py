"""The training losses of a run by update, from its log."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from finetune.runs.events import logged

DRAWN = 150  # points of a drawn curve


def read_losses(lines: Iterable[str]) -> tuple[list[tuple[int, float]], int]:
    """(update, loss) of the last training in a log, in order; and the number of lines that are not events.

    A resumed run may have repeated some updates: the later ones count.
    """
    losses: dict[int, float] = {}
    damaged = 0
    for event in _events(lines):
        if event is None:
            damaged += 1
        elif event["event"] == "training":
            losses = {update: loss for update, loss in losses.items() if update <= event.get("done", 0)}
        elif event["event"] == "updates":
            found = event.get("losses") or []
            losses |= dict(enumerate(found, start=event["update"] - len(found) + 1))
    return sorted(losses.items()), damaged


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most DRAWN points, each the mean of about as many neighbours."""
    parts = np.array_split(np.asarray(points, float), min(DRAWN, len(points)))
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in parts]


def _events(lines: Iterable[str]) -> Iterator[Mapping[str, Any] | None]:
    """The logged events; None for a line that is not one, such as the truncated last line of a killed run."""
    for line in lines:
        event = logged(line)
        whole = event is not None
        if event is not None and event["event"] == "updates":
            whole = isinstance(event.get("update"), int) and isinstance(event.get("losses"), list)
        yield event if whole else None
