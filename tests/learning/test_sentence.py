"""Sentences, trained: rare classes that weigh more, and long texts that are read in windows."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.toys import cat_task, late_task
from support.training import build, fit

from finetune.runs.recipe import Train
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.options import configured


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
