"""Published answers to real data have the official scores."""

import json
from pathlib import Path

import pytest

from finetune.commands.evaluate.answers import score_answers
from finetune.data.source import Source
from finetune.metrics.squad import score_v1
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
    scored = score_answers(find(task), published(real_data, name), source=Source(folder=real_data))
    assert round(100 * scored.scores["dev"]["em"], 3) == em
    assert round(100 * scored.scores["dev"]["f1"], 3) == f1
    assert scored.notes == ()


def test_published_answers_of_which_some_are_missing(real_data: Path, tmp_path: Path) -> None:
    """As evaluate-v1.1 counts: a question without an answer adds 0 to the sum, and 1 to the number."""
    answers = json.loads(published(real_data, "dev-v1.1_BERT_ensemble_GoogleAI.json").read_text())
    left_out = set(list(answers)[::800][:13])
    (tmp_path / "some.json").write_text(json.dumps({name: a for name, a in answers.items() if name not in left_out}))
    task, source = find("squad-v1"), Source(folder=real_data)
    rows = task.load(source, "dev").rows
    right = [score_v1(row.answers, answers[row.id]) for row in rows if row.id not in left_out]
    scored = score_answers(task, tmp_path / "some.json", source=source)
    assert scored.scores["dev"]["em"] == pytest.approx(sum(em for em, _ in right) / 10_570)
    assert scored.scores["dev"]["f1"] == pytest.approx(sum(f1 for _, f1 in right) / 10_570)
    assert scored.scores["dev"]["em"] < 0.86206
    assert "has no prediction for 13 of 10,570 rows" in scored.notes[0]
