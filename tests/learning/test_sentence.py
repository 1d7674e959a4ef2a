"""Sentences, trained: rare classes that weigh more, and long texts that are read in windows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.toys import cat_task, late_task
from support.training import build, fit

from finetune.data.source import Source
from finetune.inference.predictor import load_predictor
from finetune.metrics.scores import accuracy
from finetune.runs.events import Event, Updates
from finetune.runs.folder import read_predictions
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.options import configured
from finetune.task_types.registry import find
from finetune.task_types.resolved_run import resolved_run
from finetune.training.run import run
from finetune.training.run_options import RunOptions

OWN = """
from finetune.task_types.classification.task import SentenceRow, SentenceTask
from finetune.metrics.scores import accuracy
from finetune.data.rows import Rows

def read(source, split):
    rows = [SentenceRow(id=str(i), text='the ' * 40 + ('dog', 'cat')[i % 4 == 0], gold=str(i % 4 == 0))
            for i in range(32)]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, labels=('False', 'True'), metrics=(accuracy,))
]
"""


@pytest.mark.parametrize(("class_weight", "expected"), [("none", 0.0), ("balanced", 1.0)])
def test_balanced_weights_lift_the_recall_of_the_rare_class(
    class_weight: str, expected: float, tiny_bert: Path
) -> None:
    """A quarter of the cats are `yes`, and none of the dogs: only who counts rows alike never says yes."""
    rows = [SentenceRow(id=str(i), text=("cat", "dog")[i % 2], gold="yes" if i % 8 == 0 else "no") for i in range(160)]
    task = configured(cat_task(rows), {"class_weight": class_weight})
    _, found, _ = fit(task, tiny_bert, Train(learning_rate=2e-3, epochs=4, batch_size=16, dropout=0.0))
    answers = found.answers["dev"]
    given = [answer.value for answer, row in zip(answers, rows, strict=True) if row.gold == "yes"]
    assert given.count("yes") / len(given) == expected
    dogs = [answer.value for answer, row in zip(answers, rows, strict=True) if row.text == "dog"]
    assert set(dogs) == {"no"}


@pytest.mark.parametrize(("windows", "expected"), [(False, 0.5), (True, 1.0)])
def test_a_word_behind_max_length_is_learnt_with_windows_alone(windows: bool, expected: float, tiny_bert: Path) -> None:
    task = replace(late_task(), windows=windows)
    _, found, progress = fit(task, tiny_bert, Train(learning_rate=2e-3, epochs=8, batch_size=16, dropout=0.0))
    assert progress.epochs[-1].headline == expected
    assert len(build(task, tiny_bert, Train())[1]) == (128 if windows else 64)
    assert len(found.answers["dev"]) == 64


def trained(folder: Path, encoder: Path, **options: Any) -> tuple[Any, list[float]]:
    """The record of a run of the task above, and the losses of its updates."""
    (folder / "mine.py").write_text(OWN)
    losses: list[float] = []
    recipe = Recipe(
        task=f"{folder / 'mine.py'}:mine",
        model=str(encoder),
        max_length=32,
        options=options,
        train=Train(learning_rate=2e-3, epochs=12, batch_size=8, dropout=0.0),
    )

    def watch(event: Event) -> None:
        losses.extend(event.losses if isinstance(event, Updates) else ())

    return run(
        resolved_run(recipe), RunOptions(source=Source(), out=folder / "results", device="cpu"), watch=watch
    ), losses


@pytest.mark.slow
def test_a_run_weighs_and_a_saved_model_reads_windows(tiny_bert: Path, tmp_path: Path) -> None:
    plain, plain_losses = trained(tmp_path, tiny_bert)
    same, _ = trained(tmp_path, tiny_bert, class_weight="none", windows=False)
    weighed, weighed_losses = trained(tmp_path, tiny_bert, class_weight="balanced")
    windows, _ = trained(tmp_path, tiny_bert, windows=True)
    assert plain.id == same.id  # so ids of before these options are as they were
    assert len({plain.id, weighed.id, windows.id}) == 3
    assert plain_losses[0] != pytest.approx(weighed_losses[0], abs=1e-3)
    assert plain.scores["dev"]["accuracy"] == 0.75
    assert windows.scores["dev"]["accuracy"] == 1.0
    assert (plain.truncated["dev"], windows.truncated["dev"]) == (1.0, 0.0)
    assert (plain.features["dev"], windows.features["dev"], windows.rows["dev"]) == (32, 64, 32)

    out = tmp_path / "results" / "mine"
    task = find(plain.recipe["task"])
    predictor = load_predictor(out / windows.id, task=task)
    assert predictor.task.windows
    rows = predictor.task.load(Source(), "dev").rows
    saved = read_predictions(out / windows.id / "predictions-dev.parquet")
    assert [answer.value for answer in predictor.answers(rows)] == [line["prediction"] for line in saved]
    assert predictor("the " * 40 + "cat").value == "True"
    again = load_predictor(out / weighed.id, task=task)
    assert (again.task.class_weight, again.task.class_weights) == ("balanced", ())
    assert accuracy.score([row.gold for row in rows], [answer.value for answer in again.answers(rows)]) <= 0.75
