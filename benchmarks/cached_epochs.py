"""Frozen encoder: an epoch from the cache compared with one that encodes again, in alternation; and scores of both.

python benchmarks/cached_epochs.py --data DIR --out results/benchmarks/cached_epochs.json
"""

import os
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import machine
import torch
from machine import options, write
from measuring import built, timed, unscored

from finetune.data.source import source_of
from finetune.inference.hidden_states import with_states
from finetune.models.feature import Feature
from finetune.runs.recipe import parse
from finetune.training.evaluation import DevEvaluation
from finetune.training.extras import RunState
from finetune.training.trainer import Trainer

TRAIN = {"batch_size": 16, "epochs": 1, "learning_rate": 1e-3, "precision": "fp32"}
COMMON = {"model": "minilm", "frozen": True, "max_length": 128, "train": TRAIN}
TAGS = {"task": "conll-2003", "options": {"context": "document"}, "layers": "concat-last-4"}
SETTINGS: dict[str, dict[str, Any]] = {
    "MRPC, linear head on pooled": {"task": "mrpc", "limit": 1000},
    "CoNLL-2003, linear head on four layers": {**TAGS, "limit": 2000},
    "CoNLL-2003, BiLSTM on four layers": {**TAGS, "bilstm": True, "limit": 1000},
}
UNCACHED = "anew"  # its key in saved results


def prepared(data: Path | None, **settings: Any) -> tuple[RunState, Trainer]:
    """A run with a new head, and its trainer."""
    run = built(parse({**COMMON, **settings}, origin="a frozen encoder"), source_of(data))
    return run, Trainer(engine=run.engine, settings=run.recipe.train, data_seed=0)


def held(run: RunState, split: str = "train") -> Sequence[Feature]:
    """The features with hidden states, cached or computed and stored."""
    return with_states(run.features[split], run.engine, weights="benchmark", precision="fp32")


def measured(data: Path | None, rounds: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Seconds of each round, seconds of encoding once, and the speed-up by the cache."""
    run, _ = prepared(data, **settings)
    times: dict[str, list[float]] = {UNCACHED: [], "cached": []}
    once = timed(partial(held, run))
    for _ in range(rounds):
        for kind, seconds in times.items():
            run, trainer = prepared(data, **settings)
            features = held(run) if kind == "cached" else run.features["train"]
            seconds.append(timed(partial(trainer.fit, features, unscored)))
    ratio = statistics.median(times[UNCACHED]) / statistics.median(times["cached"])
    return {"features": len(run.features["train"]), "encoding once": once, **times, "times as fast": ratio}


def scores(data: Path | None) -> dict[str, Any]:
    """CoNLL-2003 after three epochs of a linear head: cached in half precision, and encoded again in full precision."""
    found = {}
    for kind in (UNCACHED, "cached"):
        run, trainer = prepared(data, **TAGS, limit=2000, train={**TRAIN, "epochs": 3})
        features = {split: held(run, split) if kind == "cached" else run.features[split] for split in ("train", "dev")}
        evaluation = DevEvaluation(task=run.task, rows={"dev": run.rows["dev"]}, features={"dev": features["dev"]})
        progress, _ = trainer.fit(features["train"], evaluation)
        found[kind] = {"losses": [epoch.loss for epoch in progress.epochs], **progress.epochs[-1].scores["dev"]}
    return found


def memory(data: Path | None, cache: Path) -> dict[str, Any]:
    """Memory before and after an epoch from the cache, and the size of the cache, in bytes."""
    run, trainer = prepared(data, **TAGS, limit=4000)
    features = held(run)
    size = sum(file.stat().st_size for file in cache.rglob("*.npy"))
    before = machine.memory().get("RssAnon", 0)
    trainer.fit(features, unscored)
    return {"cache bytes": size, "memory before": before, "memory after an epoch": machine.memory().get("RssAnon", 0)}


def main() -> None:
    """Measures, prints and writes."""
    given = options(__doc__, data=Path, rounds=3)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        result = {
            "threads": torch.get_num_threads(),
            "memory": memory(given.data, Path(scratch)),
            "epochs": {name: measured(given.data, given.rounds, settings) for name, settings in SETTINGS.items()},
            "scores": scores(given.data),
        }
    write(given.out, "seconds of an epoch of training on a frozen encoder", result)


if __name__ == "__main__":
    main()
