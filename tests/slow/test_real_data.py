"""Real data and a real encoder."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import binomtest
from support.cli import Finetune

from finetune.data.source import Source
from finetune.inference.predictor import load_predictor
from finetune.models.building import load_backbone
from finetune.models.head import EncoderWithHead
from finetune.models.pretrained import MINILM_PACKAGE
from finetune.models.saving import save_checkpoint
from finetune.runs.folder import read_predictions
from finetune.runs.recipe import Recipe
from finetune.task_types.registry import find

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_transformers_trainer_gives_equal_answers_on_all_mrpc_dev_rows(
    minilm: Path, real_data: Path, tmp_path: Path
) -> None:
    """The same checkpoint, its head random but scaled up so that answers differ, evaluated by both."""
    task = find("mrpc")
    rows = task.load(Source(folder=real_data), "dev").rows
    torch.manual_seed(3)
    backbone, _ = load_backbone(minilm, Recipe(task="any"))
    ours = EncoderWithHead(backbone, task.head(backbone))
    ours.head.output.weight.data.normal_(std=1.0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    save_checkpoint(ours, tmp_path, tokenizer, {"task": "mrpc", "max_length": 128, "precision": "fp32"})
    answers = load_predictor(tmp_path, device="cpu").answers(rows)

    loaded = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    encoded = [tokenizer(row.text, row.pair, truncation=True, max_length=128) for row in rows]
    trainer = transformers.Trainer(
        model=loaded,
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path / "t"), use_cpu=True, report_to="none", disable_tqdm=True
        ),
        data_collator=transformers.DataCollatorWithPadding(tokenizer),
    )
    logits = trainer.predict(encoded).predictions
    theirs = [loaded.config.id2label[int(i)] for i in np.argmax(logits, axis=-1)]
    assert len(rows) == 408
    assert [answer.value for answer in answers] == theirs
    assert 50 < theirs.count("equivalent") < 358


@pytest.mark.nightly
def test_minilm_beats_the_best_baseline_on_three_seeds(finetune: Finetune, tmp_path: Path) -> None:
    """McNemar's exact test on the quickstart's dev set, for each seed."""
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    for seed in (42, 43, 44):  # one at a time, each within the time that a command may take
        assert finetune("run", "quickstart", "--seed", str(seed), "--quiet").returncode == 0
    files = list(tmp_path.glob("results/paraphrase/*/predictions-dev.parquet"))
    assert len(files) == 3
    for file in files:
        lines = read_predictions(file)
        ours = [line["prediction"] == line["gold"] for line in lines]
        theirs = [line["baseline:tfidf-logistic"] == line["gold"] for line in lines]
        won = sum(a and not b for a, b in zip(ours, theirs, strict=True))
        lost = sum(b and not a for a, b in zip(ours, theirs, strict=True))
        assert won > lost
        assert binomtest(won, won + lost).pvalue < 0.01
