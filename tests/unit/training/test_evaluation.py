"""Evaluation on dev: thresholds are scored on rows that did not choose them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.toys import sentences, toy

from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.training.evaluation import DevEvaluation, cross_fitted, folds

LABELS = ("b", "a", "c/d", "e")


def row(*gold: str, text: str = "the cat") -> MultiLabelRow:
    return MultiLabelRow(id="r", text=text, gold=gold)


def made_up(rows: list[MultiLabelRow], **fields: Any) -> MultiLabelTask:
    return toy(MultiLabelTask, rows, name="toy-letters", labels=LABELS, **fields)


def test_texts_too_long_for_memory_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [(text,) for text in sentences(60)]
    gold = np.array([["cat" in text.split(), True] for (text,) in texts])
    assert list(baselines.read_rows(texts)) == list(range(60))
    size = sum(len(text) for (text,) in texts)
    monkeypatch.setattr(baselines, "MOST_CHARACTERS", size // 2)
    read = baselines.read_rows(texts)
    assert len(read) < 60
    assert sum(len(texts[index][0]) for index in read) <= size // 2
    probabilities = baselines.tfidf_multilabel(texts, gold, texts[:5])
    assert probabilities.shape == (5, 2)
    assert probabilities[:, 1].tolist() == [1.0] * 5


def guessed(count: int, generator: np.random.Generator) -> tuple[list[MultiLabelRow], list[Answer]]:
    """Rows with a tenth of the labels each, and probabilities that know nothing of them."""
    gold = [[label for label in LABELS if generator.random() < 0.1] for _ in range(count)]
    rows = [MultiLabelRow(id=str(i), text=f"text {i}", gold=tuple(labels)) for i, labels in enumerate(gold)]
    chances = generator.random((count, len(LABELS)))
    return rows, made_up(rows).decide([Answer(value=[], probabilities=row.tolist()) for row in chances])


@pytest.mark.slow
def test_thresholds_are_scored_on_rows_that_did_not_choose_them() -> None:
    """With few rows the best threshold of a guess looks good on these rows, and is not on others."""
    generator = np.random.default_rng(0)
    own, fitted, new = [], [], []
    for _ in range(40):
        rows, answers = guessed(50, generator)
        task = made_up(rows)
        tuned = configured(task, task.tune(answers, rows))
        others, theirs = guessed(1000, generator)
        own.append(task.score(tuned.decide(answers), rows)["micro f1"])
        fitted.append(task.score(cross_fitted(task, answers, rows), rows)["micro f1"])
        new.append(task.score(tuned.decide(theirs), others)["micro f1"])
    assert np.mean(own) > np.mean(new) + 0.08
    assert np.mean(fitted) == pytest.approx(np.mean(new), abs=0.02)


def test_folds_depend_on_what_rows_say_alone() -> None:
    rows = [row(text=text) for text in [*sentences(23), *sentences(5)]]
    found = folds(rows)
    assert sorted(index for fold in found for index in fold) == list(range(28))
    assert max(map(len, found)) <= 10
    assert all((23 + i in fold) == (i in fold) for fold in found for i in range(5))  # equal texts
    turned = folds(rows[::-1])
    assert [sorted(27 - index for index in fold) for fold in turned] == found
    few = [row("a"), row("a")]  # equal, so that no other row can choose
    answers = [Answer(value=[], probabilities=[0.1, 0.9, 0.4, 0.2])] * 2
    assert [answer.value for answer in cross_fitted(made_up(few), answers, few)] == [["a"]] * 2


def test_what_other_splits_and_baselines_are_answered_by() -> None:
    """On test, dev's thresholds decide: the model's for the model, the baseline's for the baseline."""
    generator = np.random.default_rng(1)
    rows = {split: guessed(60, generator)[0] for split in ("train", "dev", "test")}
    task = replace(made_up(rows["dev"]), dev_splits=("dev", "test"))
    features = {split: [Feature(row=index) for index in range(60)] for split in task.dev_splits}
    logits = {id(some): list(generator.normal(-1, 1, (60, len(LABELS)))) for some in features.values()}
    evaluation = DevEvaluation(task=task, rows=rows, features=features)
    answers = {"logits": lambda self, given: logits[id(given)], "watch": lambda self, event: None} | {
        "loss": lambda self, *given: None
    }
    engine: Any = type("Guessing", (), answers)()
    found = evaluation(engine)
    tuned = configured(task, found.chosen)
    assert found.answers["test"] == tuned.decode(logits[id(features["test"])], features["test"], rows["test"])
    assert found.answers["dev"] != tuned.decode(logits[id(features["dev"])], features["dev"], rows["dev"])
    methods = evaluation.baselines(rows["train"], found)
    given = {split: task.baselines(rows["train"], rows[split])["tfidf-logistic"] for split in task.dev_splits}
    theirs = configured(task, task.tune(given["dev"], rows["dev"]))
    assert methods["test"]["tfidf-logistic"] == theirs.decide(given["test"]) != given["test"]
    assert methods["dev"]["tfidf-logistic"] == cross_fitted(task, given["dev"], rows["dev"])
    assert methods["dev"]["majority"] == task.baselines(rows["train"], rows["dev"])["majority"]
