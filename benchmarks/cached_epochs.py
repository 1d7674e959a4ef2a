"""Frozen encoder: an epoch from the cache compared with one that encodes again, in alternation; and scores of both.

python benchmarks/cached_epochs.py --data DIR --out results/benchmarks/cached_epochs.json
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
import torch
from dated import out_parser, write_json
from measuring import unscored

from finetune.data.source import source_of
from finetune.inference.engine import Engine
from finetune.inference.hidden_states import with_states
from finetune.models import pretrained as weights
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device
from finetune.models.families import most_tokens
from finetune.models.feature import Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.options import configured
from finetune.task_types.prepare import encode_rows, load_splits
from finetune.task_types.registry import find
from finetune.training.evaluation import DevEvaluation
from finetune.training.trainer import Trainer

COMMON = {"model": "minilm", "frozen": True, "max_length": 128}
TRAIN = {"batch_size": 16, "epochs": 1, "learning_rate": 1e-3}
TAGS = {"task": "conll-2003", "options": {"context": "document"}, "layers": "concat-last-4"}
SETTINGS: dict[str, dict[str, Any]] = {
    "MRPC, linear head on pooled": {"task": "mrpc", "limit": 1000},
    "CoNLL-2003, linear head on four layers": {**TAGS, "limit": 2000},
    "CoNLL-2003, BiLSTM on four layers": {**TAGS, "bilstm": True, "limit": 1000},
}
UNCACHED = "anew"  # its key in saved results


def prepared(
    recipe: Recipe, data: Path | None, split: str = "train"
) -> tuple[Trainer, Sequence[Feature], DevEvaluation]:
    """A trainer with a new head, the features of a split, and its Evaluation."""
    task = configured(find(recipe.task), recipe.options)
    folder = weights.resolve(recipe.model).folder
    device = resolve_device("cpu")
    model, _ = build_model(folder, task.head, recipe, device=device)
    tokenizer = load_tokenizer(folder)
    rows = load_splits(task, source_of(data), limit=recipe.limit, names=[split])[split].rows
    features = encode_rows(task, rows, tokenizer, recipe.max_length, most_tokens(model.backbone.encoder))
    accelerator = build_accelerator(device, "fp32")
    engine = Engine(model=model, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=unwatched)
    trainer = Trainer(engine=engine, settings=recipe.train, data_seed=0)
    return trainer, features, DevEvaluation(task=task, rows={split: rows}, features={split: features})


def held(trainer: Trainer, features: Sequence[Feature]) -> Sequence[Feature]:
    """The features with hidden states, cached or computed and stored."""
    return with_states(features, trainer.engine, weights="benchmark", precision="fp32")


def epoch(recipe: Recipe, data: Path | None, *, cached: bool) -> float:
    """Seconds of one epoch of training, without evaluation."""
    trainer, features, _ = prepared(recipe, data)
    if cached:
        features = held(trainer, features)
    started = time.perf_counter()
    trainer.fit(features, unscored)
    return time.perf_counter() - started


def measured(name: str, data: Path | None, rounds: int) -> dict[str, Any]:
    """Seconds of each round, seconds of encoding once, and the speed-up by the cache."""
    recipe = parse({**COMMON, "train": TRAIN, **SETTINGS[name]}, origin=name)
    trainer, features, _ = prepared(recipe, data)
    started = time.perf_counter()
    held(trainer, features)
    once = time.perf_counter() - started
    found: dict[str, Any] = {"features": len(features), "encoding once": once, UNCACHED: [], "cached": []}
    for _ in range(rounds):
        for kind in (UNCACHED, "cached"):
            found[kind].append(epoch(recipe, data, cached=kind == "cached"))
    found["times as fast"] = statistics.median(found[UNCACHED]) / statistics.median(found["cached"])
    print(
        f"{name}: encoded {found[UNCACHED]}, cached {found['cached']}, {found['times as fast']:.1f} times as fast",
        flush=True,
    )
    return found


def scores(data: Path | None) -> dict[str, Any]:
    """CoNLL-2003 after three epochs of a linear head: cached in half precision, and encoded again in full precision."""
    recipe = parse({**COMMON, **TAGS, "limit": 2000, "train": {**TRAIN, "epochs": 3}}, origin="scores")
    found = {}
    for kind in (UNCACHED, "cached"):
        trainer, features, _ = prepared(recipe, data)
        _, dev, evaluation = prepared(recipe, data, "dev")
        if kind == "cached":
            features = held(trainer, features)
            evaluation = replace(evaluation, features={"dev": held(trainer, dev)})
        progress, _ = trainer.fit(features, evaluation)
        found[kind] = {"losses": [each.loss for each in progress.epochs], **progress.epochs[-1].scores["dev"]}
        print(kind, found[kind], flush=True)
    return found


def memory(data: Path | None) -> dict[str, Any]:
    """Memory before and after an epoch from the cache, and the size of the cache, in bytes."""
    recipe = parse({**COMMON, "train": TRAIN, **TAGS, "limit": 4000}, origin="memory")
    trainer, features, _ = prepared(recipe, data)
    features = held(trainer, features)
    size = sum(file.stat().st_size for file in Path(os.environ["FINETUNE_CACHE"]).rglob("*.npy"))
    before = machine.memory().get("RssAnon", 0)
    trainer.fit(features, unscored)
    return {"cache bytes": size, "memory before": before, "memory after an epoch": machine.memory().get("RssAnon", 0)}


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Epochs of a frozen encoder, cached and encoded", required=False)
    parser.add_argument("--data", type=Path, help="folder with MRPC and CoNLL-2003; default: $FINETUNE_DATA")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    facts = machine.facts()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        result = {
            "threads": torch.get_num_threads(),
            "memory": memory(options.data),
            "epochs": {name: measured(name, options.data, options.rounds) for name in SETTINGS},
            "scores": scores(options.data),
        }
    print(json.dumps(result["memory"]))
    about = "seconds of an epoch of training on a frozen encoder"
    write_json(options.out, {"about": about, **facts, **result})


if __name__ == "__main__":
    main()
