"""Toy data that a tiny encoder learns in seconds, and the pieces of a run without its folder."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric
from finetune.metrics.scores import Scores, accuracy, pearson
from finetune.models.batch import Batch
from finetune.models.device import build_accelerator
from finetune.models.feature import IGNORED, Feature
from finetune.models.saving import build_model
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Event, Updates, Watcher, unwatched
from finetune.runs.predictions import write_predictions
from finetune.runs.recipe import Recipe, Train
from finetune.task_types import SpanRow, SpanTask, TaggingRow, TaggingTask
from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
from finetune.task_types.multilabel.task import MultiLabelRow, MultiLabelTask
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.sentence.task import SentenceRow, SentenceTask
from finetune.task_types.task import Answer, Task
from finetune.training.checkpoints import Checkpoints, Progress
from finetune.training.evaluation import Evaluated, Evaluation
from finetune.training.trainer import Trainer
from support.encoders import WORDS

CPU = torch.device("cpu")
OWN_TASK = """
from finetune.metrics import accuracy
from finetune.task_types import Rows, SentenceRow, SentenceTask

def read(source, split):
    rows = [SentenceRow(id=str(i), text='cat' if i % 2 else 'dog', gold=str(i % 2)) for i in range(32)]
    rows[3] = rows[3]
    return Rows(rows=rows, origin='made up')

TASKS = [
    SentenceTask(name='mine', read=read, labels=('0', '1'), metrics=(accuracy,))
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
        metrics=(accuracy,),
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
        metrics=(pearson,),
    )


def toy(kind: type[Task], rows: Sequence[Any], **fields: Any) -> Any:
    """A task of a shape, whose rows serve as training and dev split alike."""
    return kind(read=lambda source, split: Rows(rows=rows, origin="toy"), **fields)


def tag_task(*, context: str = "sentence") -> TaggingTask:
    """Entities: animals, and places with a colour before them. Two rows are a document."""
    rows = []
    for index, text in enumerate(sentences(64, seed=3)):
        words = text.split()
        tags = ["B-ANIMAL" if word in ("cat", "dog", "bird") else "O" for word in words]
        for place, (word, after) in enumerate(pairwise(words)):
            if word in ("red", "blue", "big", "small") and after in ("house", "tree", "river", "road", "sun", "moon"):
                tags[place : place + 2] = ["B-PLACE", "I-PLACE"]
        rows.append(TaggingRow(id=str(index), words=tuple(words), gold=tuple(tags), document=str(index // 2)))
    return toy(TaggingTask, rows, name=f"toy-tags-{context}", types=("ANIMAL", "PLACE"), context=context)


def span_task(*, unanswerable: bool = False) -> SpanTask:
    """The answer is `moon` or `sun` with the word after it; every third question may have none."""
    rows = []
    for index, text in enumerate(sentences(64, seed=4)):
        words = [word for word in text.split() if word not in ("moon", "sun")]
        answers, start = ("",), 0
        if unanswerable and index % 3 == 0:
            context, answers, start = " ".join(["the", *words]), (), None
        else:
            place = index % (len(words) + 1)
            words = [*words[:place], ("moon", "sun")[index % 2], "flew", *words[place:]]
            context = " ".join(words)
            answers = (" ".join(words[place : place + 2]),)
            start = len(" ".join([*words[:place], ""]))
        rows.append(SpanRow(id=f"q{index}", question="who flew ?", context=context, answers=answers, start=start))
    return toy(SpanTask, rows, name=f"toy-spans-{'2' if unanswerable else '1'}", unanswerable=unanswerable)


def choice_task(*, ragged: bool = True) -> ChoiceTask:
    """The right choice says yes; rows have two to four choices, or all have three."""
    rows = []
    texts = iter(sentences(400, seed=5))
    for index in range(64):
        count = 2 + index % 3 if ragged else 3
        gold = index % count
        choices = tuple(f"{'yes' if i == gold else 'no'} {next(texts)}" for i in range(count))
        rows.append(ChoiceRow(id=str(index), context=next(texts), choices=choices, gold=gold))
    return toy(ChoiceTask, rows, name="toy-choices")


def write_columns(folder: Path, names: Sequence[str], *, types: tuple[str, str]) -> None:
    """The tagging toy as column files, its two types under other names."""
    lines = ["-DOCSTART- O"]
    for row in tag_task().load(Source(), "train").rows:
        tags = (tag.replace("ANIMAL", types[0]).replace("PLACE", types[1]) for tag in row.gold)
        lines += ["", *(f"{word} {tag}" for word, tag in zip(row.words, tags, strict=True))]
    for name in names:
        (folder / name).write_text("\n".join(lines) + "\n")


def write_squad(folder: Path, version: str) -> None:
    """The span toy as the official JSON files of a version."""
    paragraphs = []
    for row in span_task(unanswerable=version == "v2.0").load(Source(), "train").rows:
        answers = [{"text": text, "answer_start": row.start} for text in row.answers or ()]
        questions = [{"id": row.id, "question": row.question, "answers": answers}]
        paragraphs.append({"context": row.context, "qas": questions})
    for split in ("train", "dev"):
        content = {"version": version, "data": [{"title": "toy", "paragraphs": paragraphs}]}
        (folder / f"{split}-{version}.json").write_text(json.dumps(content))


def write_swag(folder: Path) -> None:
    """The choice toy as SWAG's csv files; the fourth choice is the first once more."""
    lines = [
        ",".join((row.context, "", *row.choices, row.choices[0], str(row.gold)))
        for row in choice_task(ragged=False).load(Source(), "train").rows
    ]
    header = "sent1,sent2,ending0,ending1,ending2,ending3,label"
    for name in ("train.csv", "val.csv"):
        (folder / name).write_text("\n".join([header, *lines]) + "\n")


def labels_task() -> MultiLabelTask:
    """The first word says which of three labels a row has: none, one, two or all."""
    labels = ("animal", "big/small", "sky")
    sets = {"was": (), "cat": ("animal",), "moon": ("big/small", "sky"), "bird": labels}
    firsts = list(sets.items()) * 16
    rows = [
        MultiLabelRow(id=str(index), text=f"{first} {text}", gold=gold)
        for index, ((first, gold), text) in enumerate(zip(firsts, sentences(64, seed=6), strict=True))
    ]
    return toy(MultiLabelTask, rows, name="toy-labels", labels=labels)


def late_task() -> SentenceTask:
    """Yes or no by the last word, which stands behind the 24 tokens, or 32, that tests cut at."""
    rows = [
        SentenceRow(id=str(index), text=f"{'the ' * 40}{('dog', 'cat')[index % 2]}", gold=("no", "yes")[index % 2])
        for index in range(64)
    ]
    return replace(cat_task(rows), name="toy-late", windows=True)


def every_shape() -> list[Task]:
    """A toy of each shape that the package has."""
    spans = [span_task(), span_task(unanswerable=True)]
    return [cat_task(), length_task(), labels_task(), tag_task(), *spans, choice_task()]


def save_predictions(
    file: Path,
    task: Task,
    rows: Sequence[Any],
    answers: Sequence[Answer],
    baselines: Mapping[str, Sequence[Answer]] = MappingProxyType({}),
) -> None:
    """Writes the predictions of a split as a run does."""
    write_predictions(file, prediction_lines(task, rows, answers, baselines), task.official_files(answers, rows))


def logits_of(theirs: Any, batch: Batch) -> torch.Tensor:
    """What one of transformers' own classes makes of our batch, in the shape of our logits."""
    output = theirs(**named_inputs(theirs, batch))
    if batch.positions is not None:
        return output.logits[torch.arange(len(output.logits)).unsqueeze(1), batch.positions.clamp(min=0)]
    return torch.stack([output.start_logits, output.end_logits], -1) if "start_logits" in output else output.logits


def loss_of(theirs: Any, batch: Batch) -> torch.Tensor:
    """The loss of one of transformers' own classes, by its own code."""
    assert batch.labels is not None
    several = getattr(theirs.config, "problem_type", None) == "multi_label_classification"
    labels = {"labels": batch.labels.float() if several else batch.labels}
    if batch.positions is not None:
        every = torch.full(batch.input_ids.shape, IGNORED)
        row, column = torch.nonzero(batch.positions >= 0, as_tuple=True)
        every[row, batch.positions[row, column]] = batch.labels[row, column]
        labels = {"labels": every}
    if "start_positions" in signature(theirs.forward).parameters:
        labels = {"start_positions": batch.labels[:, 0], "end_positions": batch.labels[:, 1]}
    loss: torch.Tensor = theirs(**named_inputs(theirs, batch), **labels).loss
    return loss


def named_inputs(theirs: Any, batch: Batch) -> dict[str, torch.Tensor]:
    """A batch as transformers' classes take it: choices in a dimension of their own, segments where there are some."""
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    if batch.token_type_ids is not None and "token_type_ids" in signature(theirs.forward).parameters:
        inputs["token_type_ids"] = batch.token_type_ids
    if batch.counts is None:
        return inputs
    return {name: tensor.unflatten(0, (len(batch.counts), -1)) for name, tensor in inputs.items()}


def fit(
    task: Task,
    folder: Path,
    settings: Train,
    *,
    watch: Watcher = unwatched,
    checkpoint: Path | None = None,
    seeds: tuple[int, int] = (0, 0),
    **reading: Any,
) -> tuple[Trainer, Evaluated, Progress]:
    """What `run` does between rows and record, on the CPU: (trainer, its predictions on dev, progress)."""
    task = task.seen(task.load(Source(), "train").rows)
    trainer, features = build(task, folder, settings, watch=watch, checkpoint=checkpoint, seeds=seeds, **reading)
    rows = task.load(Source(), "dev").rows
    evaluation = Evaluation(task=task, rows={"dev": rows}, features={"dev": features})
    progress, found = trainer.fit(features, evaluation)
    return trainer, found, progress


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The result of an evaluation that predicts nothing."""

    headline: float = 0.0
    metric: Metric = accuracy
    scores: Scores = field(default_factory=dict)


def unscored(_: Engine) -> Scored:
    """An evaluation that predicts nothing and gives every epoch the score 0."""
    return Scored()


def build(
    task: Task,
    folder: Path,
    settings: Train,
    *,
    watch: Watcher = unwatched,
    checkpoint: Path | None = None,
    seeds: tuple[int, int] = (0, 0),
    max_length: int = 32,
    **reading: Any,
) -> tuple[Trainer, list[Feature]]:
    """A trainer with a new model, and the features of the training split. `reading` is a recipe's frozen, layers ..."""
    recipe = Recipe(task="any", train=settings, init_seed=seeds[0], data_seed=seeds[1], **reading)
    model, _ = build_model(folder, task.head, recipe, device=CPU)
    tokenizer = load_tokenizer(folder)
    engine = Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=tokenizer.pad_token_id, watch=watch)
    trainer = Trainer(
        engine=engine,
        settings=settings,
        data_seed=seeds[1],
        checkpoints=None if checkpoint is None else Checkpoints(checkpoint),
    )
    return trainer, task.encode(task.load(Source(), "train").rows, tokenizer, max_length)


PLAIN = Train(dropout=0.0, learning_rate=3e-3, epochs=13, batch_size=16)


class Losses:
    """A watcher that keeps the loss of every update."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Updates):
            self.values += event.losses
