"""Training rates of the settings in docs/generate/shapes.toml, over some updates of each.

python benchmarks/rates.py --data DIR --by-article DIR --out results/benchmarks/rates.json
"""

import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
from machine import Parts, options
from measuring import built, unscored

from finetune.data.source import source_of
from finetune.runs.events import Event, Updates
from finetune.runs.resolve import parse
from finetune.task_types.options import option_names
from finetune.training.trainer import Trainer

SHAPES = machine.ROOT / "docs" / "generate" / "shapes.toml"


@dataclass
class Stopwatch:
    """A watcher that records the time of each group of updates, and stops training after `groups` of them."""

    groups: int
    times: list[tuple[int, float]] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Raises StopIteration after the last group."""
        if isinstance(event, Updates):
            self.times.append((len(event.losses), event.seconds))
            if len(self.times) > self.groups:
                raise StopIteration


def rate(shape: dict[str, Any], data: Path, groups: int) -> dict[str, float]:
    """Rows/s and tokens/s, over `groups` times ten updates."""
    recipe = parse({"task": shape["task"], **shape["settings"]}, origin=shape["task"], options=option_names)
    watch = Stopwatch(groups)
    run = built(recipe, source_of(data), watch)
    features = run.features[run.task.train_split]
    with suppress(StopIteration):
        Trainer(engine=run.engine, settings=recipe.train, data_seed=0).fit(features, unscored)
    updates, seconds = (sum(column) for column in zip(*watch.times[1:], strict=True))
    features_per_second = updates * recipe.train.batch_size / seconds
    return {
        "updates": updates,
        "seconds": seconds,
        "rows_per_second": features_per_second * len(run.train_rows) / len(features),
        "tokens_per_second": features_per_second * sum(map(len, features)) / len(features),
    }


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, data=Path, by_article=Path, rounds=3)
    parts = Parts(given.out, "Training rates", key="rates")
    for name, shape in tomllib.loads(SHAPES.read_text(encoding="utf-8")).items():
        data = given.by_article if shape["task"].startswith("squad") else given.data
        parts.measure(name, rate, shape, data, given.rounds)


if __name__ == "__main__":
    main()
