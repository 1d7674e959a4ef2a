"""Real data and a real encoder: the quickstart's set is sound, and transformers.Trainer answers as we do."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import binomtest
from toys import build, unscored

from finetune.data.formats.delimited import CSV, read_strictly
from finetune.data.source import Source
from finetune.inference.predictor import load
from finetune.inference.score_answers import score_file
from finetune.metrics.squad import score_v1
from finetune.models import backbone as model
from finetune.models import saving as checkpoints
from finetune.models.pretrained import MINILM_PACKAGE, MINILM_SHA256, resolve
from finetune.runs.predictions import read_predictions
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.registry import find

Finetune = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def minilm() -> Path:
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    return resolve("minilm").folder


def test_weights_that_were_tampered_with_are_refused(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finetune.models.pretrained.MINILM_SHA256", MINILM_SHA256[::-1])
    with pytest.raises(Exception, match=f"its sha256 is {MINILM_SHA256}, not the published"):
        resolve("minilm")


def test_transformers_trainer_gives_equal_answers_on_all_mrpc_dev_rows(
    minilm: Path, real_data: Path, tmp_path: Path
) -> None:
    """The same checkpoint, its head random but scaled up so that answers differ, evaluated by both."""
    task = find("mrpc")
    rows = task.load(Source(folder=real_data), "dev").rows
    torch.manual_seed(3)
    backbone, _ = checkpoints.load_backbone(minilm, Recipe(task="any"))
    ours = model.Model(backbone, task.head(backbone))
    ours.head.output.weight.data.normal_(std=1.0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    checkpoints.save_checkpoint(ours, tmp_path, tokenizer, {"task": "mrpc", "max_length": 128, "precision": "fp32"})
    answers = load(tmp_path, device="cpu").answers(rows)

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


def published(real_data: Path, name: str) -> Path:
    file = real_data / "squad-predictions" / name
    if not file.is_file():
        pytest.skip(f"needs {file}")
    return file


@pytest.mark.parametrize(
    ("task", "name", "em", "f1"),
    [
        ("squad-v1", "dev-v1.1_BERT_ensemble_GoogleAI.json", 86.206, 92.196),
        ("squad-v2", "dev-v2.0_BERT_single_GoogleAI.json", 78.742, 81.775),
    ],
)
def test_published_answers_have_the_official_scores(
    task: str, name: str, em: float, f1: float, real_data: Path
) -> None:
    scored = score_file(find(task), published(real_data, name), source=Source(folder=real_data))
    assert round(100 * scored.scores["em"], 3) == em
    assert round(100 * scored.scores["f1"], 3) == f1
    assert scored.notes == []


def test_published_answers_of_which_some_are_missing(real_data: Path, tmp_path: Path) -> None:
    """As evaluate-v1.1 counts: a question without an answer adds 0 to the sum, and 1 to the number."""
    answers = json.loads(published(real_data, "dev-v1.1_BERT_ensemble_GoogleAI.json").read_text())
    left_out = set(list(answers)[::800][:13])
    (tmp_path / "some.json").write_text(json.dumps({name: a for name, a in answers.items() if name not in left_out}))
    task, source = find("squad-v1"), Source(folder=real_data)
    rows = task.load(source, "dev").rows
    right = [score_v1(row.answers, answers[row.id]) for row in rows if row.id not in left_out]
    scored = score_file(task, tmp_path / "some.json", source=source)
    assert scored.scores["em"] == pytest.approx(sum(em for em, _ in right) / 10_570)
    assert scored.scores["f1"] == pytest.approx(sum(f1 for _, f1 in right) / 10_570)
    assert scored.scores["em"] < 0.86206
    assert "has no prediction for 13 of 10,570 rows" in scored.notes[0]


@pytest.mark.slow
def test_the_baseline_of_sst2_reads_all_of_its_rows(real_data: Path) -> None:
    task, source = find("sst2"), Source(folder=real_data)
    train, dev = (task.load(source, split).rows for split in ("train", "dev"))
    assert len(train) == 67_349
    given = task.baselines(train, dev)["tfidf-logistic"]
    assert 100 * task.score(given, dev)["accuracy"] == pytest.approx(82.7, abs=0.3)
    assert task.baseline_remarks(train) == []


def test_the_quickstart_set_is_balanced_and_has_no_sentence_twice() -> None:
    task = find("paraphrase")
    splits = {split: task.load(Source(), split).rows for split in ("train", "dev")}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 1000, "dev": 200}
    for rows in splits.values():
        assert sum(row.gold == "same" for row in rows) * 2 == len(rows)
    texts = [text.lower() for rows in splits.values() for row in rows for text in row.texts]
    assert len(set(texts)) == len(texts) == 2400


def test_counting_words_solves_the_quickstart_set_only_in_part() -> None:
    task = find("paraphrase")
    train, dev = (task.load(Source(), split).rows for split in ("train", "dev"))
    given = task.baselines(train, dev)
    assert task.score(given["majority"], dev)["accuracy"] == 0.5
    assert 0.55 < task.score(given["tfidf-logistic"], dev)["accuracy"] < 0.75


def test_learning_from_real_weights_starts_at_once(minilm: Path) -> None:
    """A few updates on the quickstart's set lower the loss; the whole of it is what `make demo` shows."""
    losses: list[float] = []

    def watch(event: str, **facts: list[float]) -> None:
        if event == "updates":
            losses.extend(facts["losses"])

    trainer, features = build(
        find("paraphrase"), minilm, Train(learning_rate=2e-4, epochs=4, batch_size=8), watch=watch
    )
    trainer.fit(features[:48], unscored)
    assert np.mean(losses[-6:]) < 0.6 * np.mean(losses[:6])


def test_a_second_reader_agrees_with_the_dev_labels() -> None:
    """Their judgements were made from the sentences alone, before they saw a label."""
    file = Path(__file__).with_name("data") / "paraphrase-second-reader.csv"
    judged = [fields["label"] for _, fields in read_strictly(file, CSV, columns=["id", "label"])]
    gold = [row.gold for row in find("paraphrase").load(Source(), "dev").rows]
    assert sum(a == b for a, b in zip(gold, judged, strict=True)) >= 0.95 * len(gold)


@pytest.mark.slow
def test_minilm_beats_the_best_baseline_on_three_seeds(finetune: Finetune, tmp_path: Path) -> None:
    """McNemar's exact test on the quickstart's dev set, for each seed."""
    pytest.importorskip(MINILM_PACKAGE, reason="needs the extra `offline`")
    for seed in (42, 43, 44):  # one at a time, each within the time that a command may take
        assert finetune("run", "quickstart", "--seed", str(seed), "--quiet").returncode == 0
    files = list(tmp_path.glob("results/paraphrase/*/predictions-dev.parquet"))
    assert len(files) == 3
    for file in files:
        lines = read_predictions(file)
        ours = [line["answer"] == line["gold"] for line in lines]
        theirs = [line["baseline:tfidf-logistic"] == line["gold"] for line in lines]
        won = sum(a and not b for a, b in zip(ours, theirs, strict=True))
        lost = sum(b and not a for a, b in zip(ours, theirs, strict=True))
        assert won > lost
        assert binomtest(won, won + lost).pvalue < 0.01
