"""Entities as the commands show them: in the preview of the data, and in the first predictions of a run."""

import json
from pathlib import Path

from support.cli import Finetune, InProcess


def _spans(folder: Path) -> str:
    rows = [{"text": f"어제 {place}의 날씨", "label": [[3, 5, "LOC"]]} for place in ("부산", "서울") * 10]
    (folder / "spans.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return "spans.jsonl"


def test_the_preview_shows_where_an_entity_ends(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    out = in_process("check", _spans(tmp_path), f"model={tiny_bert}", data=tmp_path)[1]
    assert "label = 부산/LOC" in out
    words = [{"words": ["in", "New", "York", "and", "Rome"], "tags": ["O", "B-LOC", "I-LOC", "O", "B-LOC"]}] * 10
    (tmp_path / "words.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in words))
    out = in_process("check", "words.jsonl", f"model={tiny_bert}", data=tmp_path)[1]
    assert "label = New York/LOC, Rome/LOC" in out


def test_the_table_of_predictions_has_no_empty_column(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    file = _spans(tmp_path)
    assert here("run", file, f"model={tiny_bert}", "max_length=32", "train.epochs=1").returncode == 0
    shown = here("show", file, "--predictions", "2").stdout
    table = shown[shown.index("first 2 predictions") :]
    assert "prediction" in table and "(LOC)" in table
    assert "document" not in table
