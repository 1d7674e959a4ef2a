"""Options are declared by a task type and by a reader in the same way: set, saved with the model, and set again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from support.toys import every_shape

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.classification.task import SentenceTask
from finetune.task_types.declared import Option, declared_options, option
from finetune.task_types.options import configured, option_values, task_options
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.tagging.task import TaggingTask
from finetune.task_types.task import Task
from finetune.training.prepare import plan_run
from finetune.training.run import run
from finetune.training.run_options import RunOptions

OTHERS: dict[type[Task], dict[str, Any]] = {
    TaggingTask: {"context": "document"},
    SentenceTask: {"windows": True},
    TextTask: {"mask": "words", "mask_share": 0.3},
}
UNUSED = {  # by objective
    "ltr": {"mask", "mask_share", "replace"},
    "mlm-sbo": {"mask"},
}


@dataclass(frozen=True, kw_only=True)
class Folded:
    """A reader with an option; its rows are those of the fold."""

    rows: Sequence[Any]
    fold: Literal[0, 1] = option(0, "which half of the rows is read")

    def __call__(self, source: Source, split: str) -> Rows:
        return Rows(rows=list(self.rows[self.fold :: 2]), origin=f"fold {self.fold}")


def folded(task: Task) -> Task:
    rows = task.load(Source(), "dev").rows
    return replace(task, read=Folded(rows=rows))


@pytest.mark.slow
@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_options_of_the_task_and_of_its_reader_reach_the_saved_model(
    task: Task, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = folded(task)
    given = {"fold": 1, **OTHERS.get(type(task), {})}
    unused = UNUSED.get(getattr(task, "objective", ""), set())
    given = {name: value for name, value in given.items() if name in task_options(task) and name not in unused}
    assert "fold" in given
    monkeypatch.setattr("finetune.task_types.registry.available", lambda: {task.name: task})
    small = Train(epochs=1, batch_size=8)
    recipe = Recipe(task=task.name, model=str(tiny_bert), max_length=32, options=given, train=small)
    record = run(resolved_run(recipe), RunOptions(source=Source(), out=tmp_path, device="cpu"), watch=unwatched)
    assert {name: record.options[name] for name in given} == given
    again = load_predictor(tmp_path / task.name / record.id).task
    assert json.loads(json.dumps({name: option_values(again)[name] for name in given})) == given
    assert [row.id for row in again.load(Source(), "dev").rows] == [row.id for row in task.read.rows[1::2]]
    assert plan_run(resolved_run(recipe), source=Source(), device="cpu").id == record.id
    assert (
        plan_run(resolved_run(recipe.model_copy(update={"options": {}})), source=Source(), device="cpu").id != record.id
    )


def test_an_option_says_its_type_default_and_meaning() -> None:
    (found,) = declared_options(Folded(rows=()))
    assert found == Option(name="fold", type=Literal[0, 1], default=0, meaning="which half of the rows is read")
    assert all(one.meaning for task in every_shape() for one in declared_options(task))


def test_a_wrong_value_and_a_name_that_both_have_are_errors() -> None:
    task = folded(every_shape()[0])
    with pytest.raises(UserError, match="'fold' is 2: input should be 0 or 1"):
        configured(task, {"fold": 2})
    with pytest.raises(UserError, match="has no option 'fold'"):
        configured(every_shape()[0], {"fold": 1})

    @dataclass(frozen=True)
    class Clashing:
        windows: bool = option(False, "something else")

    with pytest.raises(UserError, match="has the option 'windows' of its task"):
        replace(every_shape()[0], read=Clashing())  # type: ignore[call-arg]
