"""A run is resolved once, at the door of a command: what trains it looks up no name."""

from pathlib import Path

import pytest
from support.runs import FAST, REVIEWS, as_csv

from finetune.data.source import source_of
from finetune.runs.events import unwatched
from finetune.task_types import own_data, registry
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run import run
from finetune.training.run_options import RunOptions
from finetune.training.targets import load_target


@pytest.fixture
def reviews_run(tiny_bert: Path, tmp_path: Path) -> ResolvedRun:
    data = tmp_path / "reviews.csv"
    data.write_text(as_csv(("review", "mark"), *REVIEWS[:20]))
    return load_target(str(data), {"model": str(tiny_bert), **FAST, "train.epochs": 1})


def test_a_resolved_run_is_trained_without_looking_up_its_task(
    reviews_run: ResolvedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a name was resolved again")

    monkeypatch.setattr(registry, "find", refused)
    monkeypatch.setattr(own_data, "own_task", refused)
    options = RunOptions(source=source_of(None), out=tmp_path / "results", device="cpu")
    assert run(reviews_run, options, watch=unwatched).task == "reviews.csv"


def test_the_same_task_under_another_name_and_recipe(reviews_run: ResolvedRun) -> None:
    named = reviews_run.renamed("mine.parquet")
    other = named.with_recipe(named.recipe.model_copy(update={"seed": 7}))
    assert (other.task.name, other.default.name, other.recipe.seed) == ("mine.parquet", "mine.parquet", 7)
    assert reviews_run.before == []
