"""Multiple choice: rows with differing numbers of choices, SWAG's csv and CODAH's folds."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.toys import choice_task, toy
from support.training import build
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.runs.recipe import Train
from finetune.task_types import baselines
from finetune.task_types.choice.task import ChoiceRow, ChoiceTask


def test_fewer_choices_are_masked_and_change_nothing(tiny_bert: Path) -> None:
    """A row next to others with more choices has the logits, the loss and the probabilities that it has alone."""
    trainer, features = build(choice_task(), tiny_bert, Train(dropout=0.0))
    assert sorted({len(feature.choices) for feature in features}) == [2, 3, 4]
    model = trainer.model.eval()
    with torch.no_grad():
        batch = collate(features[:6], pad_id=0)
        together = model(*batch.inputs())
        assert together.shape == (6, 4)
        assert torch.isinf(together).sum() == sum(4 - len(feature.choices) for feature in features[:6])
        alone = [model(*collate([feature], pad_id=0).inputs())[0] for feature in features[:6]]
        losses = [model.head.loss(given[None], batch.labels["label"][i : i + 1]) for i, given in enumerate(alone)]
    for row, given in zip(together, alone, strict=True):
        assert torch.allclose(row[: len(given)], given, atol=1e-5)
    assert float(model.head.loss(together, batch.labels["label"])) == pytest.approx(float(sum(losses)), abs=1e-4)
    predicted = trainer.engine.logits(features)
    assert [len(given) for given in predicted] == [len(feature.choices) for feature in features]
    answers = choice_task().decode(predicted, features, [])
    assert all(sum(answer.probabilities) == pytest.approx(1) for answer in answers)


def test_each_choice_is_paired_with_its_context(tiny_bert: Path) -> None:
    row = ChoiceRow(id="", context="the cat sat", choices=("on the house", "under a tree"), gold=1)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    (feature,) = choice_task().encode([row], tokenizer, 32)
    texts = [tokenizer.decode(choice.input_ids) for choice in feature.choices]
    assert texts == ["[CLS] the cat sat [SEP] on the house [SEP]", "[CLS] the cat sat [SEP] under a tree [SEP]"]
    assert (feature.label, feature.row, feature.truncated) == (1, 0, False)
    assert choice_task().encode([row], tokenizer, 8)[0].truncated


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"choices": ("one",)}, "row 'r'.*two choices"),
        ({"choices": ("one", " ")}, "row 'r'.*two choices"),
        ({"context": " "}, "row 'r' has an empty context"),
        ({"gold": 2}, "row 'r'.*2 choices"),
    ],
)
def test_faults_of_rows_are_named(fields: dict[str, object], expected: str) -> None:
    row = ChoiceRow(**({"id": "r", "context": "a", "choices": ("one", "two"), "gold": 0} | fields))
    with pytest.raises(UserError, match=expected):
        toy(ChoiceTask, [row], name="toy").load(Source(), "train")


def test_the_baseline_picks_the_choice_most_like_the_context() -> None:
    rows = [("the red cat sat", ["a dog ran", "the cat sat down"]), ("big river", ["river road", "moon", "sun"])]
    texts = [text for context, choices in rows for text in (context, *choices)]
    assert baselines.most_similar(texts, rows) == [1, 0]
    assert baselines.most_similar(["a"], [("a", ["b", "c"])]) == [0]
    assert np.all(np.array(baselines.most_similar(texts, rows * 2)) == [1, 0, 1, 0])
