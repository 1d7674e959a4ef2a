"""What trackers are sent: events and records as flat names and finite numbers, within every library's limits."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from finetune.errors import shortened
from finetune.runs.record import RunRecord

LONGEST_VALUE = 6_000  # characters of a setting, of which MLflow takes no more
LONGEST_NAME = 200  # characters, of which MLflow takes 250
MOST_AT_ONCE = 100  # values in a call, of which MLflow takes no more
TOGETHER = 8  # updates whose mean is a point
NumbersByName = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class TrackedPoint:
    """Numbers of an update, at a Unix time."""

    step: int
    time: float
    numbers: NumbersByName


class Points:
    """Makes points of the events of a run, live ones or those of its log."""

    def __init__(self) -> None:
        self.update = 0
        self.examples = 0.0  # of an update

    def of(self, name: str, facts: Mapping[str, Any], time: float) -> Iterator[TrackedPoint]:
        """The points of an event, by its name and facts; an epoch's are at its last update."""
        if name == "training" and facts["updates"]:
            self.update = facts["done"]
            self.examples = facts["examples"] * facts["epochs"] / facts["updates"]
        elif name == "updates":
            self.update = facts["update"]
            yield from self._of_updates(facts, time)
        elif name == "epoch":
            given = {"train/epoch_loss": facts["loss"], "dev/loss": facts.get("dev_loss"), "epoch": facts["epoch"]}
            yield from self.at_end(given | _by_split(facts.get("scores", {})), time)

    def at_end(self, numbers: Mapping[str, Any], time: float) -> Iterator[TrackedPoint]:
        """Points with these numbers at the last update, as many as limits demand."""
        kept = list(finite_numbers(numbers).items())
        for begin in range(0, len(kept), MOST_AT_ONCE):
            yield TrackedPoint(step=self.update, time=time, numbers=dict(kept[begin : begin + MOST_AT_ONCE]))

    def _of_updates(self, facts: Mapping[str, Any], time: float) -> Iterator[TrackedPoint]:
        """The means of a few updates each; the speed is that of all."""
        losses, rates, seconds = facts["losses"], facts.get("rates", ()), facts["seconds"]
        each = seconds / max(1, len(losses))
        speed = {"train/examples_per_second": self.examples * len(losses) / seconds} if seconds else {}
        for begin in range(0, len(losses), TOGETHER):
            end = min(begin + TOGETHER, len(losses))
            numbers = {"train/loss": fmean(losses[begin:end]), **speed}
            if rates:
                numbers["train/learning_rate"] = rates[end - 1]
            left = len(losses) - end
            yield TrackedPoint(step=self.update - left, time=time - left * each, numbers=finite_numbers(numbers))


def settings(recipe: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    """The settings of a recipe under dotted names; one that is not a number or a text is written as JSON."""
    return _named({name: _plain(value) for name, value in _flat(recipe)})


def final_numbers(record: RunRecord) -> NumbersByName:
    """The scores, those of the baselines, and the cost of a finished run."""
    numbers: NumbersByName = {}
    for name, score in _by_split(record.scores).items():
        numbers[f"final/{name}"] = score
    for split, methods in record.baselines.items():
        for method, scores in methods.items():
            numbers |= {f"final/{split}/{method}/{metric}": score for metric, score in scores.items()}
    return numbers | {f"seconds/{part}": seconds for part, seconds in record.seconds.items()}


def final_table(record: RunRecord) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row for each split and metric: the score, and that of the best baseline, as they are shown."""
    rows = []
    for split, scores in record.scores.items():
        for name, score in scores.items():
            metric, baseline = record.metric(name), record.best_baseline(split, name)
            rows.append([split, name, metric.shown(score), "" if baseline is None else metric.shown(baseline)])
    return ["split", "metric", "score", "best baseline"], rows


def final_table_markdown(record: RunRecord) -> str:
    """The final table in Markdown."""
    head, rows = final_table(record)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |" for cells in lines)


def finite_numbers(numbers: Mapping[str, Any]) -> NumbersByName:
    """The finite numbers, under names that every library takes; others are left out."""
    return _named({name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)})


def tracker_name(name: str) -> str:
    """A name with `/` between its parts, each of which has letters, digits and `_-. ` alone, and is not empty."""
    parts = [re.sub(r"[^\w.\- ]", "_", part).strip(". ") or "_" for part in name.split("/")]
    return "/".join(parts)[:LONGEST_NAME].rstrip("/. ")


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values under names for trackers; two that would be one are numbered."""
    named: dict[str, Any] = {}
    for name, value in values.items():
        base = found = tracker_name(name)
        number = 1
        while found in named:
            number += 1
            found = f"{base}_{number}"
        named[found] = value
    return named


def _by_split(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{split}/{metric}": score for split, given in scores.items() for metric, score in given.items()}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _plain(value: Any) -> str | int | float | bool:
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shortened(text, LONGEST_VALUE)
