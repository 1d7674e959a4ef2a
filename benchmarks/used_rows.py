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
from dated import out_parser, write_json
from measuring import CLOCK, MODEL, Job, as_in_a_run, fresh, train_ours
from transformers import AutoConfig, AutoModel

from finetune.models import pretrained as weights
from finetune.models.device import resolve_precision
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe_tables import Train
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
    return {
        "examples_per_second": found.examples_per_second,
        "loss": found.loss,
        "peak_bytes": machine.memory()["VmHWM"],
    }


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Word vectors of used words alone", required=False)
    parser.add_argument("--data", type=Path, help="folder with MRPC's files; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    facts = machine.facts()
    precision = resolve_precision("auto", torch.device("cpu"))
    train = Train.model_validate({"batch_size": 32, "epochs": 1, "learning_rate": 2e-4, "precision": precision})
    rounds: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with TemporaryDirectory() as scratch:
        for name, model in (("MiniLM", MODEL), ("large vocabulary", fresh(save_large, Path(scratch) / "large"))):
            rounds[name] = {way: [] for way in WAYS}
            for number in range(options.rounds):
                job = Job(data=options.data, updates=options.updates, seed=number, model=model, train=train)
                for way in WAYS[:: -1 if number % 2 else 1]:
                    rounds[name][way].append(fresh(measured, job, way))
                    print(name, way, rounds[name][way][-1], flush=True)
    result = {
        "about": "Training with word vectors of the words that are used alone, and with all",
        **facts,
        "settings": {
            "updates": options.updates,
            "train": train.model_dump(),
            "vocabulary": LARGE,
            "clock": os.environ.get(CLOCK, "wall"),
        },
        "medians": {
            name: {
                way: {key: statistics.median(each[key] for each in found) for key in found[0]}
                for way, found in ways.items()
            }
            for name, ways in rounds.items()
        },
        "rounds": rounds,
    }
    write_json(options.out, result)


if __name__ == "__main__":
    main()
