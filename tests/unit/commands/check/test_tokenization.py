"""`finetune check`: what the tokenizer makes of the texts."""

import unicodedata
from pathlib import Path

from support.checked_files import (
    Check,
    found,
    korean,
    korean_encoder,
    labels,
    reviews,
    texts,
    write_csv,
)


def test_korean_is_checked_for_its_letters_and_its_tokenizer(tmp_path: Path, check: Check, tiny_bert: Path) -> None:
    rows = [[korean(i), "긍정" if i % 2 else "부정"] for i in range(60)]
    rows[4][0] = unicodedata.normalize("NFD", rows[4][0])
    rows[6][0] = "ㅎㅏㄴㄱㅜㄱㅇㅓ ㅁㅜㄴㅈㅏㅇ"
    rows[8][0] = "정말 재미있다 ㅋㅋㅋ ㅠㅠ"
    rows[10][0] = "this one is in English"
    path = write_csv(tmp_path / "a.csv", [["문장", "감정"], *rows])
    report = check(path)
    expected = {"not-nfc": (5,), "jamo": (7,)}
    assert {code: found(report).get(code) for code in expected} == expected
    (finding,) = (finding for finding in report.findings if finding.code == "vocabulary")
    assert "model=klue/bert-base, or klue/roberta-base, klue/roberta-large, monologg" in finding.remedy
    assert "google-bert/bert-base-multilingual-cased" in finding.remedy
    assert "jamo" not in finding.what
    assert "% of the tokens unknown" in finding.what and found(report, "warning")["vocabulary"][:3] == (1, 2, 3)
    assert "unknown-tokens" not in found(report)  # which would have the share again
    report = check(path, model=str(korean_encoder(tiny_bert, tmp_path / "pieces", pieces=True)))
    (finding,) = (finding for finding in report.findings if finding.code == "vocabulary")
    assert "1.9 tokens" in finding.what
    report = check(path, model=str(korean_encoder(tiny_bert, tmp_path / "whole", pieces=False)))
    assert "vocabulary" not in found(report)


def test_lengths_and_unknown_tokens_are_told(tmp_path: Path, check: Check) -> None:
    path = reviews(tmp_path / "a.csv", text={3: "☃ " * 30, 9: "the cat " * 40})
    report = check(path, max_length=64)
    assert 9 in found(report, "note")["windows"]
    assert "windows" not in found(check(path, max_length=512))
    assert found(report)["unknown-tokens"] == (3,)
    pairs = [[text, other, label] for text, other, label in zip(texts(60), texts(60, seed=2), labels(60), strict=True)]
    pairs[8][1] = "the cat " * 40
    path = write_csv(tmp_path / "b.csv", [["sentence1", "sentence2", "label"], *pairs])
    assert found(check(path, max_length=256), "warning").get("cut") is None
    assert 9 in found(check(path, max_length=80), "warning")["cut"]


def test_the_tokens_of_every_file_are_looked_at(tmp_path: Path, check: Check) -> None:
    folder = tmp_path / "reviews"
    reviews(folder / "train.csv")
    write_csv(folder / "test.csv", [["text", "label"], *zip(texts(20, words=200, seed=3), labels(20), strict=True)])
    report = check(folder, max_length=256)
    assert {Path(one.file).name for one in report.findings if one.code == "token-lengths"} == {"train.csv", "test.csv"}
    assert [Path(one.file).name for one in report.findings if one.code == "windows"] == ["test.csv"]
