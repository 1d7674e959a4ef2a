"""Intents and slots: from the file to both answers, their scores, and the loss of a plain computation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.checked_files import write_jsonl
from support.own_data import own_task
from support.toys import intent_task
from support.training import CPU, PLAIN, build
from torch.nn import functional
from transformers import AutoTokenizer

from finetune.commands.check.findings import findings_of
from finetune.data.source import Source
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.feature import IGNORED, label_counts
from finetune.runs.recipe import Recipe
from finetune.task_types.parts import Answer
from finetune.task_types.plugins.intents import IntentRow, IntentTask

Fields = dict[str, Any]
BOTH = "intent-and-slots"
TASK = IntentTask(name="x", read=None, types=("a", "b"), intents=("go", "stop"))  # type: ignore[arg-type]


def asked(number: int, **names: str) -> Fields:
    """A text, its tags and its intent, in columns of these names."""
    kind, verb = (("music", "play"), ("book", "read"))[number % 2]
    row = {"text": f"{verb} the red cat number {number}", "slots": "O O B-thing I-thing O O", "intent": kind}
    return {names.get(name, name): cell for name, cell in row.items()}


def spans(number: int) -> Fields:
    return asked(number) | {"slots": [{"start": 9, "end": 16, "entity": "thing"}]}


def file_of(folder: Path, make: Callable[[int], Fields] = asked, **changed: Any) -> str:
    """A file of such rows; row 8 with other cells."""
    rows = [make(number) | (changed if number == 7 else {}) for number in range(40)]
    return str(write_jsonl(folder / "a.jsonl", rows))


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({"intent": ""}, "has a label in the column 'slots' and none in 'intent'"),
        ({"intent": None, "slots": ""}, "without a label"),
        ({"slots": "O O"}, "has 6 words and 2 tags"),
        ({"text": ""}, "has no words"),
        ({"intent": ["a"]}, "several values in the column 'intent'"),
        ({"text": {"a": 1}, "slots": "O O"}, "in the column 'text'; expected words"),
    ],
)
def test_a_row_without_one_of_both_is_named_and_left_out(cells: Fields, note: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, **cells)
    notes = own_task(path).load(Source(), "train").notes
    assert any(note in one and "row 8" in one and "a.jsonl" in one for one in notes), notes
    assert findings_of(path, {}).findings


def test_the_loss_is_that_of_a_plain_computation(tiny_bert: Path, tiny_roberta: Path) -> None:
    trainer, features = build(intent_task(), tiny_bert, PLAIN)
    model, batch = trainer.engine.model.eval(), collate(features[:16], pad_id=0)
    encoded = model.backbone.encoder(batch.input_ids, batch.attention_mask, batch.token_type_ids)
    of_tags, of_intents = (head.output for head in model.head.heads)
    intents = functional.linear(encoded.pooler_output, of_intents.weight, of_intents.bias)
    words = encoded.last_hidden_state[torch.arange(16)[:, None], batch.positions.clamp(min=0)]  # type: ignore[union-attr]
    tags = functional.linear(words, of_tags.weight, of_tags.bias)
    own = functional.cross_entropy(intents, batch.labels["intent"]) + functional.cross_entropy(
        tags.flatten(0, 1), batch.labels["slots"].flatten(), ignore_index=IGNORED
    )
    counts = label_counts(features[:16])
    losses = model.head.losses(model(*batch.inputs()), batch.labels)
    assert float(sum(loss / counts[name] for name, loss in losses.items())) == pytest.approx(float(own), rel=1e-5)
    assert counts == {"intent": 16, "slots": sum(len(one.reads) for one in features[:16])}  # type: ignore[arg-type]
    without_pooler, _ = build_model(tiny_roberta, TASK.head, Recipe(task="any"), device=CPU)
    assert isinstance(without_pooler.head.heads[1].dense, torch.nn.Linear)


def test_windows_are_averaged_for_the_intent_and_each_word_has_a_tag(tiny_bert: Path) -> None:
    row = IntentRow(id="1", words=("cat", "dog") * 20, gold=("stop", ("O", "B-a") * 20))
    features = TASK.encode([row], AutoTokenizer.from_pretrained(tiny_bert), 16)
    assert len(features) > 2 and {one.label["intent"] for one in features} == {1}
    assert sum(len(one.label["slots"]) for one in features) == 40
    logits = [np.zeros((len(one.reads), 7), np.float32) for one in features]  # type: ignore[arg-type]
    for number, each in enumerate(logits):
        each[:, 5:] = [0, 4] if number == 0 else [1, 0]
    (answer,) = TASK.decode(logits, features, [row])
    mean = (4 - (len(features) - 1)) / len(features)
    assert answer.value["intent"] == ("stop" if mean > 0 else "go") and len(answer.value["slots"]) == 40
    assert answer.probabilities is not None and len(answer.probabilities) == 41
    assert max(answer.probabilities[0], 1 - answer.probabilities[0]) == pytest.approx(1 / (1 + np.exp(-abs(mean))))


def test_scores_are_of_whole_rows_of_intents_and_of_slots() -> None:
    gold = [("go", ("B-a", "O")), ("stop", ("B-b", "O")), ("go", ("O", "O"))]
    rows = [IntentRow(id=str(n), words=("x", "y"), gold=one) for n, one in enumerate(gold)]
    given = [("go", ("B-a", "O")), ("go", ("B-b", "O")), ("go", ("O", "B-a"))]
    scores = TASK.score([Answer(value={"intent": intent, "slots": list(tags)}) for intent, tags in given], rows)
    assert list(scores) == list(TASK.metric_names)
    assert scores == pytest.approx(scores | {
        "exact match": 1 / 3, "intent accuracy": 2 / 3, "slot precision": 2 / 3, "slot recall": 1.0, "slot f1": 0.8,
        "intent: go/recall": 1.0, "intent: go/precision": 2 / 3, "intent: stop/f1": 0.0, "b/f1": 1.0,
    })  # fmt: skip
