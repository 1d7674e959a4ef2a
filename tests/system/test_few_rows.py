"""What a user's first run does with few rows: enough updates, no choice by a few rows of dev, a linear probe."""

from pathlib import Path
from typing import Any

import pytest
from support.predicted_files import written
from support.runs import REVIEWS

from finetune.data.source import Source
from finetune.runs.events import EpochDone, Event, Training, Working, unwatched
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run
from finetune.training.run_options import RunOptions


def rows(count: int) -> list[tuple[str, str]]:
    made = [(f"{text} {i}", mark) for i in range(count // 80 + 1) for text, mark in REVIEWS]
    return [("review", "mark"), *made[:count]]


def trained(data: Path, encoder: Path, watch: Any = unwatched, **settings: Any) -> RunRecord:
    fast = {"train.learning_rate": 2e-3, "max_length": 16, "model": str(encoder)}
    recipe, _ = starting_recipe(str(data), fast | settings)
    return run(resolved_run(recipe), RunOptions(source=Source(), out=data.parent / "results"), watch=watch)


@pytest.mark.parametrize(
    ("count", "settings", "expected"),  # batch size, epochs, select, patience
    [
        (20, {}, (8, 10, "last", None)),
        (490, {}, (8, 10, "last", None)),  # 49 rows of dev
        (1_200, {}, (16, 10, "best", 2)),
        (40, {"dev": "many.csv"}, (8, 10, "best", None)),  # two epochs are 10 updates
        (1_200, {"limit": 40}, (8, 10, "last", None)),
    ],
)
def test_the_recipe_fits_the_number_of_rows(
    count: int, settings: dict[str, Any], expected: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "many.csv", rows(1_200))
    recipe, _ = starting_recipe(str(written(tmp_path / "a.csv", rows(count))), settings)
    train = recipe.train
    assert (train.batch_size, train.epochs, train.select, train.patience) == expected
    assert (recipe.pooling, train.least_updates) == ("auto", 100)


def test_few_rows_get_the_least_updates_are_scored_ten_times_and_each_step_is_told(
    tiny_bert: Path, tmp_path: Path
) -> None:
    seen: list[Event] = []
    record = trained(written(tmp_path / "a.csv", rows(24)), tiny_bert, seen.append)
    assert (record.updates, record.selected_epoch) == (100, 10)
    assert (record.scored_after, record.parts) == (("update", list(range(10, 101, 10))), ("part", 10))
    assert sum(isinstance(event, EpochDone) for event in seen) == 10
    first = next(place for place, event in enumerate(seen) if isinstance(event, Training))
    told = [event.what for event in seen[:first] if isinstance(event, Working)]
    assert told[0] == "finding the encoder's weights"
    assert {"reading rows", "loading the encoder", "computing the first update"} <= {*told}
