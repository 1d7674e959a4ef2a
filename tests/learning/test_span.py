"""Spans, trained: a model answers with its threshold."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.toys import span_task, write_squad

import finetune as package
from finetune.data.source import Source


@pytest.mark.slow
def test_a_trained_model_answers_with_its_threshold(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: Any
) -> None:
    """`finetune run squad-v2`, its files, the threshold in its config, and `finetune.load(...)(question, context)`."""
    rows = span_task(unanswerable=True).load(Source(), "train").rows
    write_squad(tmp_path, "v2.0")
    settings = ["max_length=64", "train.epochs=25", "train.batch_size=8", "train.dropout=0.0"]
    settings.append("train.learning_rate=2e-3")
    code, out, err = in_process("run", "squad-v2", f"model={tiny_bert}", *settings, data=tmp_path)
    assert code == 0, err
    assert "no-answer" in out
    (record_file,) = tmp_path.glob("results/squad-v2/*/record.json")
    folder, record = record_file.parent, json.loads(record_file.read_text())
    assert record["scores"]["dev"]["f1"] > 0.9
    config = json.loads((folder / "model/config.json").read_text())["finetune"]
    assert config["options"]["threshold"] == record["options"]["threshold"]
    predictions = json.loads((folder / "predictions.json").read_text())
    odds = json.loads((folder / "null_odds.json").read_text())
    assert set(predictions) == set(odds) == {row.id for row in rows}
    assert all((odds[name] > record["options"]["threshold"]) == (text == "") for name, text in predictions.items())
    assert json.loads((folder / "nbest_predictions.json").read_text()).keys() == odds.keys()

    monkeypatch.chdir(tmp_path)
    answer = package.load("squad-v2")
    assert answer.task.threshold == record["options"]["threshold"]
    for row in rows[:6]:
        found = answer(row.question, row.context)
        assert found.text == predictions[row.id]
        assert found.text == ("" if found.start is None else row.context[found.start : found.end])
        assert 0 <= found.score <= 1
        assert 0 <= found.no_answer <= 1
    code, out, _ = in_process("evaluate", folder.name, "squad-v2", "--json", data=tmp_path)
    assert json.loads(out)["dev"] == pytest.approx(record["scores"]["dev"])
