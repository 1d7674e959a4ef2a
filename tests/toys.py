"""Toy data that a tiny encoder learns in seconds, and the pieces of a run without its folder."""

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from conftest import WORDS

from finetune.device import build_accelerator
from finetune.events import Watcher, unwatched
from finetune.features import Feature
from finetune.heads.sentence import SentenceRow, SentenceTask
from finetune.metrics import accuracy, pearson
from finetune.model import build_model
from finetune.prepare import load_tokenizer
from finetune.recipe import Train
from finetune.resume import Checkpoints
from finetune.scoring import Evaluation
from finetune.source import Source
from finetune.task import Rows, Task
from finetune.trainer import Progress, Trainer

CPU = torch.device("cpu")
OWN_TASK = """
from finetune.heads.sentence import SentenceRow, SentenceTask
from finetune.metrics import accuracy
from finetune.task import Rows

def read(source, split):
    rows = [SentenceRow(id=str(i), text='cat' if i % 2 else 'dog', gold=str(i % 2)) for i in range(32)]
    rows[3] = rows[3]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, labels=('0', '1'), metrics=('accuracy',), scorers={'accuracy': accuracy})
]
"""


def only_run(folder: Path) -> Path:
    (record,) = folder.glob("results/*/*/record.json")
    return record.parent


def sentences(count: int, *, seed: int = 0) -> list[str]:
    """Random sentences of 3 to 12 known words."""
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(3, 12))) for _ in range(count)]


def cat_rows(count: int, *, seed: int = 0) -> list[SentenceRow]:
    """`yes` where a cat is first, `no` where a dog is."""
    rows = []
    for index, text in enumerate(sentences(count, seed=seed)):
        cat = (index * 7 + seed) % 2 == 0
        rows.append(SentenceRow(id=str(index), text=f"{'cat' if cat else 'dog'} {text}", gold="yes" if cat else "no"))
    return rows


def cat_task(rows: Sequence[SentenceRow] | None = None) -> SentenceTask:
    """Classification; the rows serve as training and dev split alike."""
    given = cat_rows(64) if rows is None else rows
    return SentenceTask(
        name="toy-cats",
        read=lambda source, split: Rows(rows=given, origin="toy"),
        labels=("no", "yes"),
        metrics=("accuracy",),
        scorers={"accuracy": accuracy},
    )


def length_task() -> SentenceTask:
    """Regression on a pair: how many of five the second sentence has of the word `red`."""
    rows = [
        SentenceRow(
            id=str(index),
            text=text,
            pair=" ".join(["red"] * (index % 6) + ["blue"] * (5 - index % 6)),
            gold=float(index % 6),
        )
        for index, text in enumerate(sentences(64))
    ]
    return SentenceTask(
        name="toy-reds",
        read=lambda source, split: Rows(rows=rows, origin="toy"),
        metrics=("pearson",),
        scorers={"pearson": pearson},
    )


def fit(
    task: Task,
    folder: Path,
    settings: Train,
    *,
    watch: Watcher = unwatched,
    checkpoint: Path | None = None,
    seeds: tuple[int, int] = (0, 0),
) -> tuple[Trainer, Evaluation, Progress]:
    """What `run` does between rows and record, on the CPU: (trainer, its last evaluation, progress)."""
    trainer, features = build(task, folder, settings, watch=watch, checkpoint=checkpoint, seeds=seeds)
    rows = task.load(Source(), "dev").rows
    evaluation = Evaluation(task=task, rows={"dev": rows}, features={"dev": features})
    progress = trainer.fit(features, evaluation)
    return trainer, evaluation, progress


def build(
    task: Task,
    folder: Path,
    settings: Train,
    *,
    watch: Watcher = unwatched,
    checkpoint: Path | None = None,
    seeds: tuple[int, int] = (0, 0),
) -> tuple[Trainer, list[Feature]]:
    """A trainer with a new model, and the features of the training split."""
    model, _ = build_model(folder, task.head, init_seed=seeds[0], device=CPU, dropout=settings.dropout)
    tokenizer = load_tokenizer(folder)
    trainer = Trainer(
        model=model,
        settings=settings,
        accelerator=build_accelerator(CPU, "fp32"),
        pad_id=tokenizer.pad_token_id,
        data_seed=seeds[1],
        watch=watch,
        checkpoints=None if checkpoint is None else Checkpoints(checkpoint),
    )
    return trainer, task.encode(task.load(Source(), "train").rows, tokenizer, 32)
