"""Training with word vectors of the words that are used alone, next to all of them: examples/s and memory.

python benchmarks/used_rows.py --data DIR --out results/benchmarks/used_rows.json

MiniLM, and a random encoder of its shape with a vocabulary as large as XLM-R's; MRPC's rows, in the precision that a
run takes by itself. Each measurement is a process, both ways in turns. On a machine with other work
BENCHMARK_CLOCK=cpu OMP_NUM_THREADS=1 counts the seconds that a processor computed.
"""

import os
import statistics
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch
from machine import options, write
from measuring import CLOCK, MODEL, TRAIN, Job, alternating, as_in_a_run, fresh, train_ours
from transformers import AutoConfig, AutoModel

from finetune.models import pretrained as weights
from finetune.models.device import resolve_precision
from finetune.models.tokenizers.load import load_tokenizer
from finetune.training import trainer

LARGE = 250_002  # tokens of XLM-R
WAYS = ("used", "all")


def save_large(folder: Path) -> str:
    """Saves a random encoder of MiniLM's shape with a large vocabulary, and MiniLM's tokenizer; the folder's name."""
    source = weights.resolve(MODEL).folder
    config = AutoConfig.from_pretrained(source)
    config.vocab_size = LARGE
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    load_tokenizer(source).save_pretrained(folder)
    return str(folder)


def measured(job: Job, way: str) -> dict[str, Any]:
    """Examples/s, loss and the peak memory of one way."""
    if way == "all":
        trainer.used_rows_alone = lambda *_, **__: nullcontext()  # type: ignore[attr-defined, assignment]
    found = train_ours(as_in_a_run, job)
    rate, peak = found.examples_per_second, machine.memory()["VmHWM"]
    return {"examples_per_second": rate, "loss": found.loss, "peak_bytes": peak}


def main() -> None:
    """Measures, prints and writes."""
    given = options(__doc__, data=Path, updates=20, rounds=3)
    train = TRAIN.model_copy(update={"precision": resolve_precision("auto", torch.device("cpu"))})
    rounds: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with TemporaryDirectory() as scratch:
        for name, model in (("MiniLM", MODEL), ("large vocabulary", fresh(save_large, Path(scratch) / "large"))):
            rounds[name] = {way: [] for way in WAYS}
            for number, way in alternating(WAYS, given.rounds):
                job = Job(data=given.data, updates=given.updates, seed=number, model=model, train=train)
                rounds[name][way].append(fresh(measured, job, way))
    settings = {
        "updates": given.updates, "train": train.model_dump(), "vocabulary": LARGE,
        "clock": os.environ.get(CLOCK, "wall"),
    }  # fmt: skip
    medians = {
        name: {way: {key: statistics.median(found[key] for found in of[way]) for key in of[way][0]} for way in WAYS}
        for name, of in rounds.items()
    }
    about = "Training with word vectors of the words that are used alone, and with all"
    write(given.out, about, {"settings": settings, "medians": medians, "rounds": rounds})


if __name__ == "__main__":
    main()
