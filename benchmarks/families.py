"""Each family of encoders, tiny and in the shape of a base model: training, prediction and memory next to Trainer's.

python benchmarks/families.py --data DIR --sizes tiny base --out results/benchmarks/families.json
python benchmarks/families.py --data DIR --sizes small --rates-alone --out results/benchmarks/families_small.json

The encoders are random, their tokenizer is MiniLM's, the rows are MRPC's. Each measurement is a process, ours and
Trainer's in alternation; it is added to the file when it is finished, and the same command continues where an earlier
one stopped. An idle machine is needed: about 25 minutes on 2 cores, as much again where the processor has bf16. On one
that has other work, BENCHMARK_CLOCK=cpu OMP_NUM_THREADS=1 counts the seconds that a processor computed.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch
from against_trainer import trained_theirs
from dated import resumed
from measuring import CLOCK, Job, as_in_a_run, fresh, sample, seconds, trained_ours, untrained_ours
from tiny_encoders import config_of, sizes
from transformers import AutoModel

from finetune.errors import UserError, first_line
from finetune.inference.engine import Engine
from finetune.models import pretrained as weights
from finetune.models.building import checkpoint_gradients
from finetune.models.device import resolve_precision
from finetune.models.families import FAMILIES
from finetune.models.feature import Feature
from finetune.models.kernels.cpu import release_memory
from finetune.models.kernels.layers import attention_of, feed_forward_of
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe_tables import Train

ABOUT = "Each family of encoders, random: examples/s of training and prediction, and memory of a batch"
SHAPES = {
    "tiny": {"width": 128, "inner": 512, "layers": 2, "heads": 2},
    "small": {"width": 384, "inner": 1536, "layers": 6, "heads": 12},  # MiniLM's
    "base": {"width": 768, "inner": 3072, "layers": 12, "heads": 12},
}
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
CONFIGS: dict[str, dict[str, Any]] = {  # as published, where that differs from transformers' defaults
    "deberta": RELATIVE,
    "deberta-v2": RELATIVE | {"position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True},
    "longformer": {"attention_window": 64},  # texts are padded to a multiple of it, and no row is longer than 128
}
SPECIAL = ("pad_token_id", "cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
TRAIN: dict[str, Any] = {"batch_size": 8, "epochs": 1, "learning_rate": 5e-5}
MEMORY_ROWS = 32  # of the batch whose memory is measured
Measure = Callable[[Job], dict[str, Any]]


def save_encoder(kind: str, size: str, tokenizer: str, folder: Path) -> str:
    """Saves a random encoder with a tokenizer; the folder's name."""
    vocabulary = load_tokenizer(weights.resolve(tokenizer).folder)
    special = {name: getattr(vocabulary, name) for name in SPECIAL}
    config = config_of(kind, sizes(**SHAPES[size]) | {"vocab_size": len(vocabulary)}, special | CONFIGS.get(kind, {}))
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    vocabulary.save_pretrained(folder)
    return str(folder)


def ours(job: Job) -> dict[str, Any]:
    """Training and prediction as in `finetune run`."""
    measured, engine, features = trained_ours(as_in_a_run, job)
    modules = list(engine.model.backbone.encoder.modules())
    whole = {"attention": attention_of, "feed-forward": feed_forward_of}
    return {
        **rates(job, measured.tokens_per_second, partial(engine.logits, features)),
        "as_functions": [name for name, part_of in whole.items() if any(map(part_of, modules))],
    }


def theirs(job: Job) -> dict[str, Any]:
    """Training and prediction by Trainer, grouped by length; or why transformers' class fails, as DeBERTa's in bf16."""
    try:
        measured, trainer = trained_theirs(job, grouped=True, bf16=job.train.precision == "bf16")
    except RuntimeError as error:
        return {"failed": first_line(error)}
    return rates(job, measured.tokens_per_second, partial(trainer.predict, trainer.train_dataset))


def rates(job: Job, tokens_per_second: float, predict: Callable[[], Any]) -> dict[str, Any]:
    """Examples/s of training, and of predicting the same rows."""
    rows, tokens = len(sample(job)), mean_tokens(job)
    began = seconds()
    predict()
    return {
        # Of timed updates that are few, some are of long rows: tokens are counted, of which an example has the mean.
        "trained_per_second": tokens_per_second / tokens,
        "predicted_per_second": rows / (seconds() - began),
    }


def mean_tokens(job: Job) -> float:
    """The mean length of the rows."""
    rows = sample(job)
    found = load_tokenizer(weights.resolve(job.model).folder)(
        [row.text for row in rows], [row.pair for row in rows], truncation=True, max_length=128
    )
    return sum(map(len, found["input_ids"])) / len(rows)


def memory(job: Job, *, checkpointed: bool) -> dict[str, Any]:
    """Bytes that a batch takes beyond weights and gradients, and its seconds; or why it cannot be checkpointed."""
    engine, features = untrained_ours(as_in_a_run, job)
    encoder = engine.model.train().backbone.encoder
    if checkpointed:
        try:
            checkpoint_gradients(encoder)
        except UserError as error:
            return {"refused": error.what}
    backward(engine, features[:2])  # gradients and libraries are there from here on
    release_memory()  # and what is freed is not resident
    machine.reset_peak()
    before, began = machine.memory(), time.perf_counter()
    backward(engine, features[:MEMORY_ROWS])
    seconds, after = time.perf_counter() - began, machine.memory()
    return {"bytes": after["VmHWM"] - before["VmRSS"], "seconds": seconds}


def backward(engine: Engine, features: Sequence[Feature]) -> None:
    """Adds the gradients of a batch."""
    batch = engine.batch(features)
    for loss in engine.model.head.losses(engine.model(*batch.inputs()), batch.labels).values():
        engine.accelerator.backward(loss)


MEASURES: dict[str, Measure] = {
    "finetune": ours,
    "Trainer": theirs,
    "memory": partial(memory, checkpointed=False),
    "memory, checkpointed": partial(memory, checkpointed=True),
}


def wanted(options: argparse.Namespace) -> Iterator[dict[str, str]]:
    """All measurements by family, size, precision and what is measured; every second family in reverse order."""
    for size in options.sizes:
        for number, family in enumerate(options.families):
            for precision in options.precisions:
                every = precision == "fp32" and not options.rates_alone
                names = list(MEASURES) if every else ["finetune", "Trainer"]
                for what in names[:: -1 if number % 2 else 1]:
                    yield {"size": size, "family": family, "precision": precision, "what": what}


def precisions() -> list[str]:
    """fp32, and bf16 where the processor has it."""
    return list(dict.fromkeys(["fp32", resolve_precision("auto", torch.device("cpu"))]))


def measured(keys: Iterable[dict[str, str]], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each measurement in a process of its own."""
    for (size, family), same in groupby(keys, key=itemgetter("size", "family")):
        with TemporaryDirectory() as scratch:
            model = fresh(save_encoder, family, size, options.tokenizer, Path(scratch) / family)
            updates = getattr(options, f"{size}_updates")
            job = Job(data=options.data, updates=updates, warm_up=1, seed=0, model=model)
            for key in same:
                mine = replace(job, train=Train.model_validate(TRAIN | {"precision": key["precision"]}))
                yield key | fresh(MEASURES[key["what"]], mine) | {"load_after": os.getloadavg()[0]}


def main() -> None:
    """Measures what the file lacks, and writes it after each measurement."""
    parser = argparse.ArgumentParser(description="Families of encoders, next to transformers.Trainer")
    parser.add_argument("--data", type=Path, help="folder with MRPC's files; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sizes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--tiny-updates", type=int, default=40, help="timed updates of a tiny encoder")
    parser.add_argument("--small-updates", type=int, default=16, help="timed updates of one in MiniLM's shape")
    parser.add_argument("--base-updates", type=int, default=4, help="timed updates of one in the shape of a base model")
    parser.add_argument("--rates-alone", action="store_true", help="no memory")
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=precisions())
    parser.add_argument("--tokenizer", default="minilm", help="an encoder whose tokenizer is used")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args()
    updates = {size: getattr(options, f"{size}_updates") for size in options.sizes}
    settings = {
        "tokenizer": options.tokenizer,
        "updates": updates,
        "shapes": {size: SHAPES[size] for size in options.sizes},
        "configs": CONFIGS,
        "train": TRAIN,
        "clock": os.environ.get(CLOCK, "wall"),
    }
    result = resumed(options.out, ABOUT, settings)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    missing = [key for key in wanted(options) if not any(key.items() <= each.items() for each in result["runs"])]
    for number, run in enumerate(measured(missing, options), start=1):
        result["runs"].append(run)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"{number} of {len(missing)}: {json.dumps(run)}", flush=True)


if __name__ == "__main__":
    main()
