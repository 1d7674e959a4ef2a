"""`finetune evaluate` on files of answers: the official scores."""

import json
from pathlib import Path
from typing import Any

import pytest


def test_the_command_scores_published_predictions(real_data: Path, in_process: Any) -> None:
    file = real_data / "squad-predictions" / "dev-v1.1_BERT_ensemble_GoogleAI.json"
    code, out, err = in_process("evaluate", str(file), "squad-v1", data=real_data)
    assert code == 0, err
    assert out == "dev f1 92.196, em 86.206\n"


def squad(question: dict[str, Any], *, context: str = "The red cat sat on a red mat.") -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": [question]}]}]}


GOOD = {"id": "q1", "question": "Who sat?", "answers": [{"text": "red cat", "answer_start": 4}]}


def answer_files(folder: Path, answers: dict[str, Any]) -> tuple[str, ...]:
    """SQuAD 2.0 with two questions of either kind, and a file of answers; the command that scores it."""
    paragraph: dict[str, Any] = {"context": "red cat", "qas": []}
    for name in "abcd":
        golds = [{"text": "red cat", "answer_start": 0}] if name in "ab" else []
        paragraph["qas"].append({"id": name, "question": "q", "answers": golds, "is_impossible": name in "cd"})
    content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [paragraph]}]}
    (folder / "dev-v2.0.json").write_text(json.dumps(content))
    (folder / "answers.json").write_text(json.dumps(answers))
    return "evaluate", "answers.json", "squad-v2", "--json"


def test_a_missing_answer_counts_0_even_where_none_is_right(tmp_path: Path, in_process: Any) -> None:
    command = answer_files(tmp_path, {"a": "red cat", "c": "", "z": "other", "y": "other"})
    code, out, err = in_process(*command, data=tmp_path)
    assert code == 0, err
    found = json.loads(out)
    assert tuple(found["dev"][name] for name in ("f1", "answerable/em", "unanswerable/em")) == (0.5, 0.5, 0.5)
    assert "2 of 4 rows, which count 0 (b, d)" in err
    assert "(z, y)" in err


@pytest.mark.parametrize(
    ("text", "expected"), [("{", "is not JSON"), ("[]", "JSON object"), ("{}", "first q1"), ('{"q1": 3}', "q1 is 3")]
)
def test_faults_of_answer_files_are_named(text: str, expected: str, tmp_path: Path, in_process: Any) -> None:
    (tmp_path / "dev-v1.1.json").write_text(json.dumps(squad(GOOD)))
    (tmp_path / "answers.json").write_text(text)
    code, _, err = in_process("evaluate", "answers.json", "squad-v1", data=tmp_path)
    assert code == 2
    assert expected in err
    assert len(err.splitlines()) == 1
