"""`finetune evaluate` on files of answers: the official scores."""

import json
from pathlib import Path
from typing import Any

import pytest

import finetune


def test_the_command_scores_published_predictions(real_data: Path, in_process: Any) -> None:
    file = real_data / "squad-predictions" / "dev-v1.1_BERT_ensemble_GoogleAI.json"
    code, out, err = in_process("evaluate", str(file), "squad-v1", data=real_data)
    assert code == 0, err
    assert out == "dev f1 92.196, em 86.206\n"


def squad(question: dict[str, Any], *, context: str = "The red cat sat on a red mat.") -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": [question]}]}]}


GOOD = {"id": "q1", "question": "Who sat?", "answers": [{"text": "red cat", "answer_start": 4}]}


def answer_files(folder: Path, answers: dict[str, Any], odds: dict[str, Any]) -> tuple[str, ...]:
    """SQuAD 2.0 with two questions of either kind, and files of answers and odds; the command that scores them."""
    paragraph: dict[str, Any] = {"context": "red cat", "qas": []}
    for name in "abcd":
        golds = [{"text": "red cat", "answer_start": 0}] if name in "ab" else []
        paragraph["qas"].append({"id": name, "question": "q", "answers": golds, "is_impossible": name in "cd"})
    content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [paragraph]}]}
    (folder / "dev-v2.0.json").write_text(json.dumps(content))
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "odds.json").write_text(json.dumps(odds))
    return "evaluate", "answers.json", "squad-v2", "--json"


def test_a_missing_answer_counts_0_even_where_none_is_right(tmp_path: Path, in_process: Any) -> None:
    command = answer_files(tmp_path, {"a": "red cat", "c": "", "z": "other", "y": "other"}, {})
    code, out, err = in_process(*command, data=tmp_path)
    assert code == 0, err
    found = json.loads(out)
    assert tuple(found["dev"][name] for name in ("f1", "answerable/em", "unanswerable/em")) == (0.5, 0.5, 0.5)
    assert "2 of 4 rows (b, d)" in err
    assert "(z, y)" in err


def test_given_thresholds_are_used_with_null_odds(tmp_path: Path, in_process: Any) -> None:
    odds = {"a": -5.0, "b": 1.0, "c": 0.5, "d": 3.0}
    command = (*answer_files(tmp_path, dict.fromkeys("abcd", "red cat"), odds), "--null-odds", "odds.json")
    for threshold, f1 in ((0.0, 0.75), (2.0, 0.75), (-9.0, 0.5), (9.0, 0.5)):
        code, out, err = in_process(*command, f"threshold={threshold}", data=tmp_path)
        assert code == 0, err
        found = json.loads(out)
        assert (found["dev"]["f1"], found["thresholds"]["threshold"]) == (f1, threshold)
        assert "best em" not in found["dev"]
        given = finetune.evaluate(
            dict.fromkeys("abcd", "red cat"), "squad-v2", null_odds=odds, data_folder=tmp_path, threshold=threshold
        )
        assert (given.scores["dev"]["f1"], given.thresholds["threshold"]) == (f1, threshold)
    code, out, _ = in_process(*command, "threshold_em=9.0", data=tmp_path)
    assert (json.loads(out)["dev"]["best em"], json.loads(out)["dev"]["f1"]) == (0.5, 0.75)
    code, out, _ = in_process(*command, "threshold=0.0", "threshold_em=9.0", data=tmp_path)
    assert (json.loads(out)["dev"]["best em"], json.loads(out)["thresholds"]["threshold"]) == (0.5, 0.0)
    command = (
        *answer_files(tmp_path, {"a": "red cat", "c": "red cat"}, odds | {"d": None}),
        "--null-odds",
        "odds.json",
    )
    code, out, _ = in_process(*command, data=tmp_path)  # what has no answer needs no odds
    assert json.loads(out)["dev"]["f1"] == 0.5
    command = (*answer_files(tmp_path, {"a": "red cat"}, {}), "--null-odds", "odds.json")
    code, _, err = in_process(*command, data=tmp_path)
    assert (code, "odds.json" in err) == (2, True)


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
