"""Korean data sets from their official files to their table, and answers that are scored as their own scorers do."""

import json
from pathlib import Path

import pytest
from support.cli import InProcess
from support.klue import write_klue
from support.korean import write_korean
from support.relations import write_klue_re

from finetune.runs.folder import read_predictions

KLUE = {
    "klue-ynat": {"macro f1", "accuracy"},
    "klue-sts": {"pearson", "f1"},
    "klue-nli": {"accuracy"},
    "klue-ner": {"entity macro f1", "character macro f1"},
    "klue-re": {"micro f1", "auprc"},
    "klue-mrc": {"em", "rouge-w", "unanswerable/em"},
}
KOREAN = {"nsmc": 72, "kornli": 36, "korsts": 36, "korquad": 6, "naver-ner": 48}  # rows that are scored last
SMALL = ["max_length=64", "train.epochs=1", "train.batch_size=32", "--quiet"]


@pytest.mark.slow
def test_klue_goes_from_official_files_to_the_table(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    data = write_klue(tmp_path / "data")
    write_klue_re(data / "klue_benchmark" / "klue-re-v1.1")
    code, _, error = in_process("run", *KLUE, f"model={tiny_bert}", *SMALL, data=data)
    assert code == 0, error
    for recipe, metrics in KLUE.items():
        (folder,) = (tmp_path / "results" / recipe).iterdir()
        assert metrics <= set(json.loads((folder / "record.json").read_text())["scores"]["dev"])
        ids = {line["id"] for line in read_predictions(folder / "predictions-dev.parquet")}
        assert len(ids) == 12 and all(one.startswith(f"{recipe.replace('klue-ynat', 'ynat')}-v1_") for one in ids)
    code, shown, error = in_process("table", "klue", data=data)
    assert (code, error) == (0, "")
    dev, test = shown.index("published, on dev"), shown.index("published, on test")
    assert shown.index("ours, on dev") < shown.index(tiny_bert.name) < dev < test
    assert dev < shown.index("kakaobank/kf-deberta-base") < test  # which has no test scores
    assert test < shown.index("FacebookAI/xlm-roberta-base")  # and this one none on dev


@pytest.mark.slow
def test_korean_sets_go_from_the_files_to_the_table(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    data = write_korean(tmp_path / "data")
    code, _, error = in_process("run", *KOREAN, f"model={tiny_bert}", *SMALL, data=data)
    assert code == 0, error
    for task, rows in KOREAN.items():
        (record,) = (json.loads(file.read_text()) for file in (tmp_path / "results" / task).glob("*/record.json"))
        assert record["rows"]["dev" if task == "korquad" else "test"] == rows
    assert in_process("table", "korean", "-o", "korean.md", data=data)[0] == 0
    lines = (tmp_path / "korean.md").read_text(encoding="utf-8").splitlines()
    (mine,) = (line.split("|")[3:] for line in lines if line.startswith("| ours, on test |"))
    assert sum(any(sign.isdigit() for sign in cell) for cell in mine) == 4  # KorQuAD's test is hidden
    (published,) = (line for line in lines if line.startswith("| published, on test | beomi/KcELECTRA-base"))
    assert "91.7" in published and "70.6" not in published  # dev is in a row of its own


def test_answers_to_korquad_are_scored_by_characters(in_process: InProcess, tmp_path: Path) -> None:
    data = write_korean(tmp_path / "data")
    answers = {f"dev-{number}-0": "《서울》" if number else "서울에서" for number in range(6)}
    (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    code, shown, error = in_process("evaluate", "answers.json", "korquad", "--json", data=data)
    assert code == 0, error
    assert json.loads(shown)["dev"] == pytest.approx({"em": 5 / 6, "f1": (5 + 2 / 3) / 6})
