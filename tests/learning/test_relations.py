"""Texts with two marked spans, trained and used: which of the two is first decides the label."""

import json
from pathlib import Path

import pytest
from support.cli import Finetune
from support.relations import marked_task, write_klue_re
from support.training import fit
from transformers import pipeline

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.runs.recipe import Train
from finetune.task_types.classification.marked import without_types
from finetune.task_types.registry import find

LEARN = Train(learning_rate=3e-3, epochs=10, batch_size=8, dropout=0.0)


def test_the_order_of_two_spans_is_learnt(tiny_bert: Path) -> None:
    _, found, _ = fit(marked_task(), tiny_bert, LEARN, max_length=40)
    assert found.headline > 0.95
    assert found.scores["dev"]["auprc"] > 0.95


def test_klue_re_from_the_official_files_to_transformers(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    write_klue_re(tmp_path / "data" / "klue-re-v1.1")
    settings = (f"model={tiny_bert}", "max_length=64", "train.epochs=1")
    ran = here("run", "klue-re", *settings, "--device", "cpu", data=tmp_path / "data")
    assert ran.returncode == 0, ran.stderr
    (file,) = (tmp_path / "results").glob("klue-re/*/record.json")
    record = json.loads(file.read_text())
    assert set(record["scores"]["dev"]) == {"micro f1", "auprc"}
    texts = [row.text for row in find("klue-re").load(Source(folder=tmp_path / "data"), "dev").rows]
    model = load_predictor(file.parent, device="cpu")
    bare = [without_types(text, model.task.spans) for text in texts]
    theirs = pipeline("text-classification", model=str(file.parent / "model"), top_k=None)(bare)
    for answer, given in zip(model.answers([model.row(text) for text in texts]), theirs, strict=True):
        chances = dict(zip(model.task.labels, answer.probabilities or (), strict=True))
        assert {one["label"]: one["score"] for one in given} == pytest.approx(chances, abs=1e-4)
    with pytest.raises(UserError, match=r"has no <obj>.*Write model\(text\)"):
        model("<subj>손흥민</subj>은 노래했다.")
