"""Intents with slots, and rankings: their files, their answers and losses by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.checked_files import write_jsonl
from support.own_data import own_task
from support.toys import ranking_task

from finetune.commands.check.findings import findings_of
from finetune.data.source import Source
from finetune.models.batch import collate
from finetune.models.tokenizers.load import read_tokenizer
from finetune.task_types.parts import Answer
from finetune.task_types.plugins.intents import IntentRow, IntentTask
from finetune.task_types.plugins.ranking import RankingRow
from finetune.task_types.plugins.ranking_head import RankingHead

Fields = dict[str, Any]
TASK = IntentTask(name="x", read=None, types=("a", "b"), intents=("go", "stop"))  # type: ignore[arg-type]


def asked(number: int, **names: str) -> Fields:
    """A text, its tags and its intent, in columns of these names."""
    kind, verb = (("music", "play"), ("book", "read"))[number % 2]
    row = {"text": f"{verb} the red cat number {number}", "slots": "O O B-thing I-thing O O", "intent": kind}
    return {names.get(name, name): cell for name, cell in row.items()}


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({"intent": ""}, "has a label in the column 'slots' and none in 'intent'"),
        ({"slots": "O O"}, "has 6 words and 2 tags"),
        ({"text": {"a": 1}, "slots": "O O"}, "in the column 'text'; expected words"),
    ],
)
def test_a_row_without_one_of_both_is_named_and_left_out(cells: Fields, note: str, tmp_path: Path) -> None:
    rows = [asked(number) | (cells if number == 7 else {}) for number in range(40)]
    path = str(write_jsonl(tmp_path / "a.jsonl", rows))
    notes = own_task(path).load(Source(), "train").notes
    assert any(note in one and "row 8" in one and "a.jsonl" in one for one in notes), notes
    assert findings_of(path, {}).findings


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


def test_bm25_is_the_formula() -> None:
    passages, mean = ["red cat", "red red dog house", "blue"], 7 / 3

    def term(df: int, tf: int, length: int) -> float:
        idf = math.log(1 + (3 - df + 0.5) / (df + 0.5))
        return idf * tf * (1.2 + 1) / (tf + 1.2 * (1 - 0.75 + 0.75 * length / mean))

    rows = [RankingRow(id=str(n), text="Red cat?", pair=passage, gold=0.0) for n, passage in enumerate(passages)]
    found = [answer.value for answer in ranking_task().baselines([], rows)["bm25"]]
    assert found == pytest.approx([term(2, 1, 2) + term(1, 1, 2), term(2, 2, 4), 0])
    odd = [
        RankingRow(id=str(n), text=one, pair=two, gold=0.0)
        for n, (one, two) in enumerate([("?", "!"), ("고양이", "고양이는")])
    ]
    assert [answer.value > 0 for answer in ranking_task().baselines([], odd)["bm25"]] == [False, True]


def test_losses_are_those_of_the_papers(tiny_bert: Path) -> None:
    grades, scores = [[2.0, 0.0, 1.0], [0.0, 1e300]], [[0.3, -0.2, 0.9], [1.5, 0.1]]
    asked = [
        RankingRow(id="", text=f"query {number}", pair=f"passage {place}", gold=grade)
        for number, some in enumerate([*grades, [1.0, 1.0]])
        for place, grade in enumerate(some)
    ]
    features = ranking_task("listwise").train_features(asked, read_tokenizer(tiny_bert), 32, print)
    assert features is not None and len(features) == 2  # the query of equal passages is left out
    head = RankingHead.__new__(RankingHead)
    torch.nn.Module.__init__(head)
    head.learns = "listwise"  # type: ignore[assignment]
    logits = torch.tensor([[0.3, -0.2, 0.9], [1.5, 0.1, -torch.inf]], requires_grad=True)
    loss = head.loss(logits, collate(features, pad_id=0).labels["label"])
    loss.backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    chances = [np.exp(some) / np.exp(some).sum() for some in scores]
    listwise = -(2 / 3 * np.log(chances[0][0]) + 1 / 3 * np.log(chances[0][2]) + np.log(chances[1][1]))
    assert float(loss.detach()) == pytest.approx(listwise)
    head.learns = "row"  # type: ignore[assignment]
    row = head.loss(torch.tensor([[0.3], [-0.2]]), torch.tensor([1.0, 0.0]))
    assert float(row) == pytest.approx(math.log1p(math.exp(-0.3)) + math.log1p(math.exp(-0.2)))
