"""Pre-training speed on a CPU against transformers' run_mlm: same text, vocabulary, model, batch, and no dropout.

finetune tokenizer corpus.txt -o vocabulary
python benchmarks/pretraining_speed.py corpus.txt vocabulary --out results/benchmarks/FILE.json
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import numpy as np
import torch
from against_trainer import QUIET, MeasuredTrainer
from datasets import Dataset
from machine import options, write
from measuring import WARM_UP, Measurement, Meter, alternating, built, fresh, unscored
from torch.optim.optimizer import register_optimizer_step_post_hook
from transformers import BertForMaskedLM, DataCollatorForLanguageModeling, TrainingArguments

from finetune.data.documents import read_documents
from finetune.data.source import Source
from finetune.inference.feature_batches import stepped
from finetune.models.encoder_size import size_of
from finetune.models.feature import Feature, lengths
from finetune.models.tokenizers.load import read_tokenizer
from finetune.runs.events import Event, Updates
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.parts import batch_maker
from finetune.training.trainer import Trainer
from finetune.training.updates import Batches


@dataclass(frozen=True, kw_only=True)
class Job:
    """The same text and model for every contestant; the seed differs by round."""

    text: Path
    vocabulary: Path
    model: str
    updates: int
    batch_size: int
    length: int
    seed: int = 0

    @property
    def recipe(self) -> Recipe:
        """Our run."""
        train = Train(
            updates=self.updates, batch_size=self.batch_size, learning_rate=1e-3, dropout=0.0, precision="fp32"
        )
        return Recipe(
            task=str(self.text), model=self.model, tokenizer=str(self.vocabulary), max_length=self.length,
            options={"shape": "text"}, seed=self.seed, train=train,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Result:
    """The timed updates, the share of masks in their time, and the most memory in bytes; first update in seconds."""

    measured: Measurement
    masks: float
    memory: int
    first_update: float


def train_ours(job: Job) -> Result:
    """Updates as in `finetune run`."""
    started, losses, drawing, firsts = time.perf_counter(), list[float](), [0.0], list[float]()

    def watch(event: Event) -> None:
        if isinstance(event, Updates):
            firsts.append(time.perf_counter() - started)
            losses.extend(event.losses)

    run = built(job.recipe, Source(), watch)

    def draw(features: Sequence[Feature], generator: np.random.Generator) -> Sequence[Feature]:
        began = time.perf_counter()
        drawn = batch_maker(run.task).draw(features, generator)
        drawing.append(time.perf_counter() - began)
        return drawn

    meter = Meter(run.model)
    register_optimizer_step_post_hook(meter.note_end)
    trainer = Trainer(engine=run.engine, settings=job.recipe.train, data_seed=job.seed, draw=draw)
    trainer.fit(run.features[run.task.train_split], unscored)
    masks = sum(drawing[-len(losses) :]) / (meter.ends[-1] - meter.ends[0]) if len(losses) > 1 else 0.0
    memory = machine.memory()["VmHWM"]
    return Result(measured=meter.measurement(losses), masks=masks, memory=memory, first_update=firsts[0])


def train_theirs(job: Job) -> Result:
    """Trainer as run_mlm.py sets it up: all lines in one, cut into blocks of the length, masks from the collator."""
    started = time.perf_counter()
    tokenizer = read_tokenizer(job.vocabulary)
    config = size_of(job.model).config(tokenizer)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(job.seed)
    model = BertForMaskedLM(config)
    meter = Meter(model)
    tokens = job.updates * job.batch_size * job.length
    ids = np.fromiter(chain.from_iterable(_lines(job.text, tokenizer)), np.int64, tokens)
    with TemporaryDirectory() as scratch:
        settings = TrainingArguments(
            output_dir=scratch, per_device_train_batch_size=job.batch_size, max_steps=job.updates,
            learning_rate=1e-3, weight_decay=0.01, warmup_steps=0.1, seed=job.seed, **QUIET,
        )  # fmt: skip
        measured = MeasuredTrainer(
            meter, model=model, args=settings,
            train_dataset=Dataset.from_dict({"input_ids": ids.reshape(-1, job.length).tolist()}),
            data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15),
        ).measured(WARM_UP)  # fmt: skip
    memory, first = machine.memory()["VmHWM"], meter.ends[0] - started
    return Result(measured=measured, masks=0.0, memory=memory, first_update=first)


def _lines(text: Path, tokenizer: Any) -> Iterator[list[int]]:
    """The ids of each line between special tokens, from the start again where the text ends."""
    while True:
        for document in read_documents(text):
            yield from tokenizer(list(document.lines))["input_ids"]


CONTESTANTS: dict[str, Callable[[Job], Result]] = {"finetune": train_ours, "run_mlm": train_theirs}


def padding_share(job: Job) -> float:
    """The share of padding in batches."""
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        run = built(job.recipe, Source())
        sizes = lengths(run.features[run.task.train_split])
    every = Batches(sizes, batch_size=job.batch_size, data_seed=0, updates=len(sizes) // job.batch_size)
    batches = every[: len(every)]
    padded = sum(len(batch) * stepped(int(sizes[batch].max()), most=job.length) for batch in batches)
    return 1 - sum(int(sizes[batch].sum()) for batch in batches) / padded


def compared(job: Job, rounds: int) -> dict[str, Any]:
    """All measurements of a model, and the ratio of the medians in tokens a second without padding."""
    found: dict[str, list[Result]] = {name: [] for name in CONTESTANTS}
    for number, name in alternating(tuple(CONTESTANTS), rounds):
        found[name].append(fresh(CONTESTANTS[name], replace(job, seed=number)))
    medians = {name: statistics.median(one.measured.tokens_per_second for one in each) for name, each in found.items()}
    return {
        "tokens_per_second": medians,
        "ratio": medians["finetune"] / medians["run_mlm"],
        "masks_share": statistics.median(one.masks for one in found["finetune"]),
        "measurements": {name: [asdict(one) for one in each] for name, each in found.items()},
    }


def main() -> None:
    """Measures, prints and writes."""
    given = options(
        __doc__, "text", "vocabulary", models="new:tiny,new:mini", updates=40, batch_size=32, length=128, rounds=3
    )
    models = given.models.split(",")
    settings = {name: getattr(given, name) for name in ("updates", "batch_size", "length")}
    paths: dict[str, Any] = {"text": Path(given.text).resolve(), "vocabulary": Path(given.vocabulary).resolve()}
    jobs = {model: Job(model=model, **settings, **paths) for model in models}
    settings |= {"models": models, "rounds": given.rounds}
    found: dict[str, Any] = {model: compared(job, given.rounds) for model, job in jobs.items()}
    found["padding_share"] = fresh(padding_share, jobs[models[0]])
    write(given.out, "Pre-training speed next to run_mlm", {"settings": settings, **found})


if __name__ == "__main__":
    main()
