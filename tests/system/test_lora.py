"""LoRA through the command line: the record, files, resuming after a kill, and errors of one line."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from support.cli import InProcess, assert_error
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

import finetune

peft = pytest.importorskip("peft", reason="needs the extra `lora`")
LORA = ["lora=2", "train.learning_rate=1e-2", "train.epochs=2", "train.batch_size=8"]


def only_record(folder: Path) -> tuple[Path, dict[str, Any]]:
    (file,) = folder.glob("results/*/*/record.json")
    return file.parent, json.loads(file.read_text())


def test_a_moved_run_needs_no_encoder_and_its_adapter_one_that_is_named(
    in_process: InProcess, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    code, _, err = in_process("run", "glue-rte", "model=./encoder", *LORA, "adapter=true", data=rte)
    assert code == 0, err
    run, _ = only_record(tmp_path)
    before = finetune.load(run)("the cat sat", "the dog ran")
    moved = run.rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    adapter = moved / "model" / "adapter"
    assert peft.PeftConfig.from_pretrained(adapter).base_model_name_or_path == "./encoder"
    config = AutoConfig.from_pretrained(adapter.parent)
    base = AutoModelForSequenceClassification.from_pretrained(encoder, config=config)
    theirs = peft.PeftModel.from_pretrained(base, adapter).eval()
    texts = AutoTokenizer.from_pretrained(adapter.parent)("the cat sat", "the dog ran", return_tensors="pt")
    with torch.no_grad():
        (chances,) = theirs(**texts).logits.softmax(-1)
    shutil.rmtree(encoder)
    after = finetune.load(moved)("the cat sat", "the dog ran")
    assert after == before
    assert max(chances.tolist()) == pytest.approx(max(after.probabilities), abs=2e-3)  # the run may be in bf16


def test_without_peft_the_extra_is_named_before_data_is_read(
    in_process: InProcess, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    code, _, err = in_process("run", "glue-rte", f"model={tiny_bert}", "lora=8", data=tmp_path / "nowhere")
    assert code == 2
    assert_error(err, "(peft)", "pip install 'bert-finetune[lora]'")
