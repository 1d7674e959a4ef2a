"""Korean data sets from their files to the table, and answers to KorQuAD that its own scorer would score alike."""

import json
from pathlib import Path

import pytest
from support.cli import InProcess
from support.korean import write_korean

TASKS = {"nsmc": 72, "kornli": 36, "korsts": 36, "korquad": 6, "naver-ner": 48}  # rows that are scored last


@pytest.mark.slow
def test_from_the_files_to_the_table(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    data = write_korean(tmp_path / "data")
    small = [f"model={tiny_bert}", "max_length=32", "train.epochs=1", "train.batch_size=32", "--quiet"]
    for task, rows in TASKS.items():
        code, _, error = in_process("run", task, *small, data=data)
        assert code == 0, error
        (record,) = (json.loads(file.read_text()) for file in (tmp_path / "results" / task).glob("*/record.json"))
        assert record["rows"]["dev" if task == "korquad" else "test"] == rows
    code, _, error = in_process("table", "korean", "-o", "korean.md", data=data)
    assert code == 0, error
    lines = (tmp_path / "korean.md").read_text(encoding="utf-8").splitlines()
    (mine,) = (line.split("|")[3:] for line in lines if line.startswith("| ours, on test |"))
    assert sum(any(sign.isdigit() for sign in cell) for cell in mine) == 4  # KorQuAD's test is hidden
    (published,) = (line for line in lines if line.startswith("| published, on test | beomi/KcELECTRA-base"))
    assert "91.7" in published
    assert "70.6" not in published, "dev is in a row of its own"
    assert not any("hidden labels" in line for line in lines)


def test_answers_to_korquad_are_scored_by_characters(in_process: InProcess, tmp_path: Path) -> None:
    data = write_korean(tmp_path / "data")
    answers = {f"dev-{number}-0": "《서울》" if number else "서울에서" for number in range(6)}
    (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    code, shown, error = in_process("evaluate", "answers.json", "korquad", "--json", data=data)
    assert code == 0, error
    scores = json.loads(shown)["dev"]
    assert scores["em"] == pytest.approx(5 / 6)
    assert scores["f1"] == pytest.approx((5 + 2 / 3) / 6)
