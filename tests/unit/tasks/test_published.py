"""Published answers to real data have the official scores."""

import json
from pathlib import Path

import pytest

from finetune.data.source import Source
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find


def published(real_data: Path, name: str) -> Path:
    file = real_data / "squad-predictions" / name
    if not file.is_file():
        pytest.skip(f"needs {file}")
    return file


@pytest.mark.parametrize(
    ("task", "name", "em", "f1"),
    [
        ("squad-v1", "dev-v1.1_BERT_ensemble_GoogleAI.json", 86.206, 92.196),
        ("squad-v2", "dev-v2.0_BERT_single_GoogleAI.json", 78.742, 81.775),
    ],
)
def test_published_answers_have_the_official_scores(
    task: str, name: str, em: float, f1: float, real_data: Path
) -> None:
    kind = find(task)
    answers, rows = json.loads(published(real_data, name).read_text()), kind.load(Source(folder=real_data), "dev").rows
    scores = kind.score([Answer(value=answers[row.id]) for row in rows], rows)
    assert round(100 * scores["em"], 3) == em
    assert round(100 * scores["f1"], 3) == f1
