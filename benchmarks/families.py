"""Each family of encoders, tiny and in the shape of a base model: training, prediction and memory next to Trainer's.

python benchmarks/families.py --data DIR --sizes tiny base --out results/benchmarks/families.json
python benchmarks/families.py --data DIR --sizes small --rates-alone --out results/benchmarks/families_small.json

The encoders are random, their tokenizer is MiniLM's, the rows are MRPC's. Each measurement is a process, ours and
Trainer's in alternation; it is added to the file when it is finished, and the same command continues where an earlier
one stopped. An idle machine is needed: about 25 minutes on 2 cores, as much again where the processor has bf16. On one
that has other work, BENCHMARK_CLOCK=cpu OMP_NUM_THREADS=1 counts the seconds that a processor computed.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch
from against_trainer import trained_theirs
from machine import Parts, options
from measuring import CLOCK, TRAIN, Job, as_in_a_run, encoder_config, fresh, timed, trained_ours, untrained_ours
from transformers import AutoModel

from finetune.errors import UserError, first_line
from finetune.inference.engine import Engine
from finetune.models import pretrained as weights
from finetune.models.building import checkpoint_gradients
from finetune.models.device import resolve_precision
from finetune.models.families import FAMILIES
from finetune.models.feature import Feature, lengths
from finetune.models.kernels.cpu import release_memory
from finetune.models.kernels.layers import attention_of, feed_forward_of
from finetune.models.tokenizers.load import load_tokenizer

ABOUT = "Each family of encoders, random: examples/s of training and prediction, and memory of a batch"
SHAPES = {
    "tiny": {"width": 128, "inner": 512, "layers": 2, "heads": 2},
    "small": {"width": 384, "inner": 1536, "layers": 6, "heads": 12},  # MiniLM's
    "base": {"width": 768, "inner": 3072, "layers": 12, "heads": 12},
}
UPDATES = {"tiny": 40, "small": 16, "base": 4}  # that are timed
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
CONFIGS: dict[str, dict[str, Any]] = {  # as published, where that differs from transformers' defaults
    "deberta": RELATIVE,
    "deberta-v2": RELATIVE | {"position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True},
    "longformer": {"attention_window": 64},  # texts are padded to a multiple of it, and no row is longer than 128
}
SPECIAL = ("pad_token_id", "cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
SETTINGS: dict[str, Any] = {"batch_size": 8, "epochs": 1, "learning_rate": 5e-5}
MEMORY_ROWS = 32  # of the batch whose memory is measured


def save_encoder(kind: str, size: str, tokenizer: str, folder: Path) -> str:
    """Saves a random encoder with a tokenizer; the folder's name."""
    vocabulary = load_tokenizer(weights.resolve(tokenizer).folder)
    special = {name: getattr(vocabulary, name) for name in SPECIAL}
    config = encoder_config(kind, SHAPES[size], vocab_size=len(vocabulary), **special, **CONFIGS.get(kind, {}))
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    vocabulary.save_pretrained(folder)
    return str(folder)


def ours(job: Job) -> dict[str, Any]:
    """Training and prediction as in `finetune run`."""
    measured, engine, features = trained_ours(as_in_a_run, job)
    modules = list(engine.model.backbone.encoder.modules())
    parts = {"attention": attention_of, "feed-forward": feed_forward_of}
    whole = [name for name, part_of in parts.items() if any(map(part_of, modules))]
    return rates(measured.tokens_per_second, lengths(features).tolist(), partial(engine.logits, features)) | {
        "as_functions": whole
    }


def theirs(job: Job) -> dict[str, Any]:
    """Training and prediction by Trainer, grouped by length; or why transformers' class fails, as DeBERTa's in bf16."""
    try:
        measured, trainer = trained_theirs(job, grouped=True, bf16=job.train.precision == "bf16")
    except RuntimeError as error:
        return {"failed": first_line(error)}
    rows: Any = trainer.train_dataset
    return rates(measured.tokens_per_second, [len(ids) for ids in rows["input_ids"]], partial(trainer.predict, rows))


def rates(tokens_per_second: float, tokens: Sequence[int], predict: Callable[[], Any]) -> dict[str, Any]:
    """Examples/s of training, and of predicting the same rows.

    Of timed updates that are few, some are of long rows: tokens are counted, of which an example has the mean.
    """
    trained = tokens_per_second * len(tokens) / sum(tokens)
    return {"trained_per_second": trained, "predicted_per_second": len(tokens) / timed(predict)}


def memory(job: Job, *, checkpointed: bool = False) -> dict[str, Any]:
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


RATES: dict[str, Callable[[Job], dict[str, Any]]] = {"finetune": ours, "Trainer": theirs}
MEMORY = {"memory": memory, "memory, checkpointed": partial(memory, checkpointed=True)}


def measured(measure: Callable[[Job], dict[str, Any]], job: Job, tokenizer: str, key: dict[str, str]) -> dict[str, Any]:
    """A measurement in a process of its own."""
    train = TRAIN.model_copy(update=SETTINGS | {"precision": key["precision"]})
    with TemporaryDirectory() as scratch:
        model = fresh(save_encoder, key["family"], key["size"], tokenizer, Path(scratch) / key["family"])
        return {**fresh(measure, replace(job, model=model, train=train)), "load_after": os.getloadavg()[0]}


def main() -> None:
    """Measures what the file lacks, and writes it after each measurement."""
    automatic = resolve_precision("auto", torch.device("cpu"))
    given = options(
        __doc__, data=Path, families=tuple(FAMILIES), sizes=tuple(SHAPES), updates=int, rates_alone=False,
        precisions=("fp32", "bf16"), tokenizer="minilm",
    )  # fmt: skip
    updates = {size: given.updates or UPDATES[size] for size in given.sizes}
    settings = {
        "tokenizer": given.tokenizer, "updates": updates, "shapes": {size: SHAPES[size] for size in given.sizes},
        "configs": CONFIGS, "train": SETTINGS, "clock": os.environ.get(CLOCK, "wall"),
    }  # fmt: skip
    parts = Parts(given.out, ABOUT, key="runs", settings=settings)
    for size, (number, family), precision in product(given.sizes, enumerate(given.families), given.precisions):
        if precision not in ("fp32", automatic):
            continue
        measures = RATES | (MEMORY if precision == "fp32" and not given.rates_alone else {})
        job = Job(data=given.data, updates=updates[size], warm_up=1)
        for what in list(measures)[:: -1 if number % 2 else 1]:
            key = {"size": size, "family": family, "precision": precision, "what": what}
            parts.measure(key, measured, measures[what], job, given.tokenizer, key)


if __name__ == "__main__":
    main()
