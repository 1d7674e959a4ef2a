"""Where one word decides a toy, that word leads; the parts add up; for every task type and family."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.pairs import each_task_and_family
from support.toys import cat_task, choice_task, labels_task, length_task, sentences, single_answers, span_task, tag_task
from support.training import CPU, fit

from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.inference.explain import PickedLogits, explain_row
from finetune.inference.explanation import ExplainedRow
from finetune.inference.predictor import Predictor
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.explained import Asked
from finetune.task_types.task import Task

pytest.importorskip("captum", reason="needs the extra `explain`")
LEARN = Train(learning_rate=2e-3, epochs=30, batch_size=8, dropout=0.0)


def predictor_of(task: Task, engine: Engine, folder: Path, max_length: int = 48) -> Predictor:
    return Predictor(task=task, engine=engine, tokenizer=load_tokenizer(folder), max_length=max_length, fingerprint="")


def untrained(task: Task, folder: Path, **reading: Any) -> Predictor:
    """A random encoder with a random head: enough for sums and places."""
    recipe = Recipe(task="any", **reading)
    model, _ = build_model(folder, task.head, recipe, device=CPU)
    accelerator = build_accelerator(CPU, "fp32")
    engine = Engine(model=model, accelerator=accelerator, pad_id=load_tokenizer(folder).pad_token_id, watch=unwatched)
    return predictor_of(task, engine, folder)


def first_row(task: Task) -> Any:
    return task.load(Source(), "dev").rows[1]


def leading(found: ExplainedRow) -> list[str]:
    """The word that adds most to each target."""
    return [max(one.words, key=lambda word: word.added).word for one in found.explanations]


DECIDING = [  # a task, a row of it by inputs, and the words of which one must lead
    (cat_task(), ("cat the river was red and old",), {"cat"}),
    (length_task(), ("the moon was old", "red red red red blue"), {"red"}),
    (labels_task(), ("cat the river was red and old",), {"cat"}),
    (tag_task(), ("the dog sat on the river",), {"dog"}),
    (span_task(), ("who flew ?", "the river sun flew and the old"), {"sun", "flew"}),
    (choice_task(), ("the man ran", ["yes the road", "no a tree", "no the old"]), {"yes"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "inputs", "deciding"),
    [DECIDING[0], *(pytest.param(*each, marks=pytest.mark.nightly) for each in DECIDING[1:])],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_word_that_decides_leads(task: Any, inputs: Any, deciding: set[str], tiny_bert: Path) -> None:
    trainer, _, _ = fit(task, tiny_bert, LEARN)
    predictor = predictor_of(task, trainer.engine, tiny_bert)
    found = explain_row(predictor, task.row(*inputs), Asked())
    assert {*leading(found)} <= deciding
    for one in found.explanations:
        assert one.adds_up
    assert explain_row(predictor, task.row(*inputs), Asked()) == found


@each_task_and_family(single_answers())
def test_the_parts_add_up_in_every_family_and_task_type(task: Any, tiny_encoder: Path) -> None:
    predictor = untrained(task, tiny_encoder)
    row = first_row(task)
    found = explain_row(predictor, row, Asked(word=row.words[0]) if hasattr(row, "words") else Asked())
    assert found.explanations
    for one in found.explanations:
        assert one.adds_up, (one.gap, one.steps)
        assert one.added == pytest.approx(one.difference, rel=0.05, abs=1e-4)
        for word in one.words:
            assert found.texts[word.text_name][word.start : word.end] == word.word
        read = [" ".join(w.word for w in one.words if w.text_name == name) for name in found.texts]
        assert [text.replace(" ", "") for text in read] == [text.replace(" ", "") for text in found.texts.values()]


@each_task_and_family(single_answers())
def test_the_value_is_that_of_the_logits_that_predict(task: Any, tiny_encoder: Path) -> None:
    """The faster kernels give the same logits with gradients as the engine without."""
    predictor = untrained(task, tiny_encoder)
    row = first_row(task)
    features = task.encode([row], predictor.tokenizer, 48)
    asked = Asked(word=row.words[0]) if hasattr(row, "words") else Asked()
    (target, *_) = task.explain_target(row, *predictor.answers([row]), features, asked).targets
    logits = predictor.engine.logits(features)
    expected = 0.0
    for pick in target.picks:
        given = logits[pick.feature].astype(np.float64)
        expected += pick.weight * given[pick.place]
        if pick.against is not None:
            line = given[tuple(slice(None) if a == pick.against else at for a, at in enumerate(pick.place))]
            expected -= pick.weight * np.log(np.exp(np.delete(line, pick.place[pick.against])).sum())
    value = PickedLogits(model=predictor.engine.model, batch=predictor.engine.batch(features), picks=target.picks)
    with torch.enable_grad():
        assert value(value.ids.reshape(1, -1)).item() == pytest.approx(expected, abs=1e-5)


def test_log_odds_are_those_of_the_shown_confidence(tiny_bert: Path) -> None:
    predictor = untrained(cat_task(), tiny_bert)
    for label in ("yes", "no"):
        (one,) = explain_row(predictor, first_row(cat_task()), Asked(label=label)).explanations
        assert one.label == label
        assert one.confidence == pytest.approx(1 / (1 + np.exp(-one.value)), abs=1e-5)


def test_a_long_text_is_explained_over_its_windows(tiny_bert: Path) -> None:
    task = replace(cat_task(), windows=True)
    text = " ".join(sentences(20, seed=9))
    found = explain_row(untrained(task, tiny_bert), task.row(text), Asked())
    (one,) = found.explanations
    assert [word.word for word in one.words] == text.split()
    assert one.adds_up
