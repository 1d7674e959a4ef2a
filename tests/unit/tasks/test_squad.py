"""SQuAD's official files, and their faults."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import span_task
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import label_counts
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.span.head import SpanHead
from finetune.task_types.span.task import SpanRow


def test_published_predictions_score_what_was_published(real_data: Path) -> None:
    """EM and F1 of two real prediction files by the official scorers, to the last digit that is known."""
    published = {
        ("squad-v1", "dev-v1.1_BERT_ensemble_GoogleAI.json"): (86.206, 92.196),
        ("squad-v2", "dev-v2.0_BERT_single_GoogleAI.json"): (78.742, 81.775),
    }
    for (name, file), (em, f1) in published.items():
        task = find(name)
        rows = task.load(Source(folder=real_data), "dev").rows
        given = json.loads((real_data / "squad-predictions" / file).read_text())
        scores = task.score([Answer(value=given[row.id]) for row in rows], rows)
        assert (round(100 * scores["em"], 3), round(100 * scores["f1"], 3)) == (em, f1)


def squad(question: dict[str, Any], *, context: str = "The red cat sat on a red mat.") -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": [question]}]}]}


GOOD = {"id": "q1", "question": "Who sat?", "answers": [{"text": "red cat", "answer_start": 4}]}


def load(tmp_path: Path, content: Any, *, name: str = "squad-v1", split: str = "train") -> Any:
    version = {"squad-v1": "v1.1", "squad-v2": "v2.0"}[name]
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / f"{split}-{version}.json").write_text(text)
    return find(name).load(Source(folder=tmp_path), split)


def test_reading_the_official_layout(tmp_path: Path) -> None:
    (row,) = load(tmp_path, squad(GOOD)).rows
    assert (row.id, row.answers, row.start, row.title) == ("q1", ("red cat",), 4, "T")
    none = load(tmp_path, squad(GOOD | {"answers": [], "is_impossible": True}), name="squad-v2").rows[0]
    assert (none.answers, none.start) == ((), None)
    unlabelled = {key: value for key, value in GOOD.items() if key != "answers"}
    assert load(tmp_path, squad(unlabelled)).rows[0].answers is None


def test_a_wrong_answer_start_is_fixed_only_where_that_is_certain(tmp_path: Path) -> None:
    def place(text: str, start: int) -> Any:
        return load(tmp_path, squad(GOOD | {"answers": [{"text": text, "answer_start": start}]}))

    fixed = place("cat", 5)
    assert fixed.rows[0].start == 8
    assert "answer_start" in fixed.notes[0]
    assert fixed.notes[0].endswith("first q1")
    for lost in (place("red", 2), place("dog", 4), place("cat", 400), place("cat", -90), place("", 0)):
        assert lost.rows[0].start is None
        assert "first q1" in lost.notes[1]


def test_answers_that_are_not_in_the_context_are_scored_but_not_trained_on(tiny_bert: Path) -> None:
    row = SpanRow(id="q", question="who ?", context="the cat sat", answers=("dog",))
    (feature,) = span_task().encode([row], AutoTokenizer.from_pretrained(tiny_bert), 32)
    assert label_counts([feature])["label"] == 0
    assert span_task().score([Answer(value="cat")], [row]) == {"f1": 0.0, "em": 0.0}
    logits = torch.zeros(1, len(feature), 2)
    assert float(SpanHead.loss(None, logits, torch.tensor([feature.label]))) == 0.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"data": [}', r"train-v1\.1\.json:1: is not JSON"),
        ({"version": "1.1"}, r"train-v1\.1\.json:.*data"),
        (squad({"question": "q", "answers": []}), r"data\[0\]\.paragraphs\[0\]\.qas\[0\]: has no 'id'"),
        (squad(GOOD | {"question": 3}), r"qas\[0\]:.*question"),
        (squad(GOOD | {"answers": [{"text": "cat"}]}), r"qas\[0\]:.*answer_start"),
        (squad(GOOD, context="  "), r"data\[0\]\.paragraphs\[0\]: the context"),
        (squad(GOOD | {"question": " "}), r"'q1'"),
        (squad(GOOD | {"answers": []}), r"'q1'.*squad-v2"),
        (squad(GOOD | {"is_impossible": True}), r"'q1'.*is_impossible"),
        (squad(GOOD | {"question": "a\ud800"}), r"'question' has a lone surrogate"),
        ({"data": squad(GOOD)["data"] * 2}, r"data\[1\].*'q1'.*data\[0\]"),
    ],
)
def test_faults_of_squad_files_are_named(content: Any, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=expected):
        load(tmp_path, content)
