"""What a run may have besides its loop is passed in, and gets the run at each place on its way."""

from pathlib import Path
from typing import Any

from support.predicted_files import written
from support.runs import FAST, REVIEWS

from finetune.data.source import Source
from finetune.runs.events import unwatched
from finetune.runs.recipe import parse
from finetune.runs.record_parts import Cost
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.extras import EXTRAS, Extra, RunState, extras_of
from finetune.training.run import run
from finetune.training.run_options import RunOptions

PLACES = ("before_reading", "after_reading", "after_building", "before_training", "after_scoring", "after_saving")


class Recorder(Extra):
    """Notes where it gets the run, and says what the run cost."""

    def __init__(self) -> None:
        self.places: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name in PLACES:
            object.__getattribute__(self, "places").append(name)
        return object.__getattribute__(self, name)

    def after_scoring(self, run: RunState) -> None:
        run.baselines["dev"] = {"mine": run.evaluated.answers["dev"]}
        run.facts["learned"] = ["dev"]


def test_an_extra_that_is_passed_in_gets_the_run_at_each_place(tiny_bert: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "a.csv", [("review", "mark"), *REVIEWS])
    recipe, _ = starting_recipe(str(data), {"model": str(tiny_bert), **FAST, "train.epochs": 1})
    extra = Recorder()
    options = RunOptions(source=Source(), out=tmp_path / "results")
    record = run(resolved_run(recipe), options, watch=unwatched, extras=[extra])
    assert extra.places == list(PLACES)
    assert record.baselines["dev"]["mine"] == record.scores["dev"]
    assert "linear-probe" not in record.baselines["dev"]
    assert record.learned == ["dev"]
    assert isinstance(record.cost, Cost)


def test_settings_ask_for_their_extras() -> None:
    def names(**settings: Any) -> list[str]:
        recipe = parse({"task": "sst2", "model": "minilm"}, origin="test").with_settings(settings, origin="test")
        return [type(extra).__name__ for extra in extras_of(recipe)]

    assert names() == ["LinearProbe"]
    assert names(frozen=True, **{"train.solver": "logistic"}) == ["LinearProbe", "FrozenEncoder", "LogisticHead"]
    assert names(keep_labels=True, **{"distil.teacher": "run"}) == ["KeepLabels", "LinearProbe", "Teacher"]
    assert names(**{"train.solver": "contrastive"}) == ["LinearProbe", "ContrastiveStep"]
    assert names(lora=4, adapter=True) == ["LinearProbe", "Lora"]
    assert len(EXTRAS) == 7
