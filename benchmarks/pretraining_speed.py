"""Pre-training speed on a CPU against transformers' run_mlm: same text, vocabulary, model, batch, and no dropout.

finetune tokenizer corpus.txt -o vocabulary
python benchmarks/pretraining_speed.py corpus.txt vocabulary --large large.txt --out results/benchmarks/FILE.json
"""

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import numpy as np
import torch
from against_trainer import EndOfUpdate, LossTrainer
from datasets import Dataset
from measuring import Measurement, Meter, unscored
from torch.optim.optimizer import register_optimizer_step_post_hook
from transformers import BertForMaskedLM, DataCollatorForLanguageModeling, PrinterCallback, TrainingArguments
from transformers.utils import logging

from finetune.data.documents import Documents
from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.models.device import build_accelerator
from finetune.models.encoder_sizes import size_of
from finetune.models.feature import Feature
from finetune.models.feature_arrays import lengths
from finetune.models.tokenizers.load import read_tokenizer
from finetune.runs.events import Event, Updates, unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.text.corpus import open_corpus
from finetune.task_types.text.tokens import token_file
from finetune.training.batching import Batches
from finetune.training.prepared_run import build_run, plan_run
from finetune.training.trainer import Trainer

SIZES = ("new:tiny", "new:mini")
PATHS = ("out", "text", "vocabulary", "large")
ROOT = Path(__file__).resolve().parents[1]
LINE = "the cat sat on line {}"  # of the corpus of many sequences


@dataclass(frozen=True, kw_only=True)
class Job:
    """The same text and model for every contestant; the seed differs by round."""

    text: Path
    vocabulary: Path
    model: str
    updates: int
    batch_size: int
    length: int
    seed: int

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
    planned = plan_run(job.recipe, source=Source(), device="cpu")
    built = build_run(planned, unwatched)

    def draw(features: Sequence[Feature], generator: np.random.Generator) -> Sequence[Feature]:
        began = time.perf_counter()
        found = planned.task.draw(features, generator)
        drawing.append(time.perf_counter() - began)
        return found

    def watch(event: Event) -> None:
        if isinstance(event, Updates):
            firsts.append(time.perf_counter() - started)
            losses.extend(event.losses)

    meter = Meter(built.model)
    register_optimizer_step_post_hook(lambda *_: meter.note_end())
    accelerator = build_accelerator(torch.device("cpu"), "fp32")
    engine = Engine(model=built.model, accelerator=accelerator, pad_id=built.tokenizer.pad_token_id, watch=watch)
    trainer = Trainer(engine=engine, settings=job.recipe.train, data_seed=job.seed, draw=draw)
    trainer.fit(built.features[planned.task.train_split], unscored)
    found = meter.measurement(losses)
    masks = sum(drawing[-len(losses) :]) / (meter.ends[-1] - meter.ends[0]) if len(losses) > 1 else 0.0
    return Result(measured=found, masks=masks, memory=_memory(), first_update=firsts[0])


def train_theirs(job: Job) -> Result:
    """Trainer as run_mlm.py sets it up: all lines in one, cut into blocks of the length, masks from the collator."""
    started = time.perf_counter()
    tokenizer = read_tokenizer(job.vocabulary)
    config = size_of(job.model).config(tokenizer)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(job.seed)
    model = BertForMaskedLM(config)
    meter = Meter(model)
    wanted = job.updates * job.batch_size * job.length
    ids = np.fromiter(chain.from_iterable(_lines(job.text, tokenizer)), np.int64, wanted)
    blocks = Dataset.from_dict({"input_ids": ids.reshape(-1, job.length).tolist()})
    with TemporaryDirectory() as scratch:
        settings = TrainingArguments(
            output_dir=scratch, per_device_train_batch_size=job.batch_size, max_steps=job.updates,
            learning_rate=1e-3, weight_decay=0.01, warmup_steps=0.1, seed=job.seed, use_cpu=True,
            logging_strategy="no", save_strategy="no", eval_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        trainer = LossTrainer(
            model=model, args=settings, train_dataset=blocks, callbacks=[EndOfUpdate(meter)],
            data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15),
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.losses = []
        trainer.train()
    found = meter.measurement([float(loss) for loss in trainer.losses])
    return Result(measured=found, masks=0.0, memory=_memory(), first_update=meter.ends[0] - started)


def _lines(text: Path, tokenizer: Any) -> Any:
    """The ids of each line between special tokens, from the start again where the text ends."""
    while True:
        for document in Documents(text):
            yield from tokenizer(list(document.lines))["input_ids"]


CONTESTANTS: dict[str, Callable[[Job], Result]] = {"finetune": train_ours, "run_mlm": train_theirs}


def tokenisation(job: Job) -> dict[str, float]:
    """Megabytes of text a second that become a token file in an empty cache, and the share of padding in batches."""
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        documents, tokenizer = open_corpus(job.text, watch=unwatched), read_tokenizer(job.vocabulary)
        size, began = documents.survey.size, time.perf_counter()
        token_file(documents, tokenizer, unwatched)
        rate = size / 1e6 / (time.perf_counter() - began)
        planned = plan_run(job.recipe, source=Source(), device="cpu")
        each = lengths(build_run(planned, unwatched).features[planned.task.train_split])
    every = Batches(each, batch_size=job.batch_size, data_seed=0, updates=len(each) // job.batch_size)
    batches = every[: len(every)]
    padded = sum(len(batch) * int(each[batch].max()) for batch in batches)
    tokens = sum(int(each[batch].sum()) for batch in batches)
    return {"megabytes_per_second": rate, "padding_share": 1 - tokens / padded}


def many_sequences(job: Job, count: int) -> dict[str, float]:
    """Seconds to the first update, and memory, of a first and a second start on a corpus of so many documents."""
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        text = Path(scratch) / "corpus.txt"
        with text.open("w", encoding="utf-8") as file:
            file.writelines(LINE.format(number) + "\n" for number in range(count))
        job = Job(**(asdict(job) | {"text": text, "updates": 4}))
        first, second = (_fresh(train_ours, job) for _ in range(2))
    return {
        "sequences": count,
        "first_start_seconds": first.first_update,
        "second_start_seconds": second.first_update,
        "second_start_bytes": second.memory,
    }


def large_text(job: Job, text: Path) -> dict[str, float]:
    """Bytes of a text and of its token file, its tokens, seconds and memory of a first and a second start, and the
    memory of a whole run.
    """
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        job = Job(**(asdict(job) | {"text": text, "updates": 4}))
        first, second = (_fresh(train_ours, job) for _ in range(2))
        written = sum(file.stat().st_size for file in (Path(scratch) / "tokens").rglob("*") if file.is_file())
        (ids,) = (Path(scratch) / "tokens").rglob("ids")
        tokens = ids.stat().st_size // 2  # of a vocabulary of at most 65,536
        command = whole_command(job, Path(scratch) / "results")
    return {
        "text_bytes": text.stat().st_size,
        "tokens": tokens,
        "disk_bytes": written,
        "first_start_seconds": first.first_update,
        "first_start_bytes": first.memory,
        "second_start_seconds": second.first_update,
        "second_start_bytes": second.memory,
        **command,
    }


def whole_command(job: Job, out: Path) -> dict[str, float]:
    """The most memory of `finetune run`, scores and baselines too: all that is resident, and without mapped files."""
    settings = [f"model={job.model}", f"tokenizer={job.vocabulary}", f"max_length={job.length}", f"seed={job.seed}"]
    training = [f"train.updates={job.updates}", f"train.batch_size={job.batch_size}", "--out", str(out), "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "finetune", "run", str(job.text), "shape=text", *settings, *training],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    most, own = 0, 0
    while process.poll() is None:
        found = machine.memory(process.pid)
        most, own = max(most, found.get("VmHWM", 0)), max(own, found.get("RssAnon", 0))
        time.sleep(0.01)
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    return {"command_bytes": most, "command_own_bytes": own}


def _fresh(function: Callable[..., Any], *given: Any) -> Any:
    """Calls it in a new process, so that settings of allocator and threads are not carried over."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_quiet) as fresh:
        return fresh.submit(function, *given).result()


def _quiet() -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _compared(job_of: Callable[..., Job], model: str, rounds: int) -> dict[str, Any]:
    """All measurements of a model, and the ratio of the medians in tokens a second without padding."""
    found: dict[str, list[Result]] = {name: [] for name in CONTESTANTS}
    for number in range(rounds):
        for name in list(CONTESTANTS)[:: -1 if number % 2 else 1]:
            result = _fresh(CONTESTANTS[name], job_of(model=model, seed=number))
            found[name].append(result)
            print(f"{model}  round {number + 1}  {name}: {result.measured.tokens_per_second:,.0f} tokens/s", flush=True)
    medians = {name: statistics.median(one.measured.tokens_per_second for one in each) for name, each in found.items()}
    return {
        "tokens_per_second": medians,
        "ratio": medians["finetune"] / medians["run_mlm"],
        "masks_share": statistics.median(one.masks for one in found["finetune"]),
        "measurements": {name: [asdict(one) for one in each] for name, each in found.items()},
    }


def main() -> None:
    """Reads the options, measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("text", type=Path, help="a file of text")
    parser.add_argument("vocabulary", type=Path, help="folder of `finetune tokenizer`")
    parser.add_argument("--models", nargs="+", default=list(SIZES))
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=128, help="tokens of a sequence")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each contestant")
    parser.add_argument("--sequences", type=int, default=1_000_000, help="of the corpus of many; 0 leaves it out")
    parser.add_argument("--large", type=Path, help="a file of 1 GB of text")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    given = parser.parse_args()
    shared = {"text": given.text.resolve(), "vocabulary": given.vocabulary.resolve(), "updates": given.updates}
    job_of = partial(Job, **shared, batch_size=given.batch_size, length=given.length)
    smallest = job_of(model=given.models[0], seed=0)
    parts: dict[str, Callable[[], Any]] = {
        **{model: partial(_compared, job_of, model, given.rounds) for model in given.models},
        "tokenisation": partial(_fresh, tokenisation, smallest),
    }
    if given.sequences:
        parts["many"] = partial(many_sequences, smallest, given.sequences)
    if given.large:
        parts["large"] = partial(large_text, smallest, given.large.resolve())
    settings = {key: value for key, value in vars(given).items() if key not in PATHS}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Any] = {}
    for name, measure in parts.items():
        measured[name] = measure()
        given.out.write_text(json.dumps({**machine.facts(), "settings": settings, **measured}, indent=1) + "\n")
    for model in given.models:
        ratio, masks = measured[model]["ratio"], measured[model]["masks_share"]
        print(f"{model}: {ratio:.2f} times the tokens/s of run_mlm; masks take {masks:.1%} of an update")
    print(json.dumps({key: measured[key] for key in ("tokenisation", "many", "large") if key in measured}, indent=1))


if __name__ == "__main__":
    main()
