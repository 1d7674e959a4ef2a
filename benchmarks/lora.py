"""LoRA compared with full fine-tuning: score, seconds, memory, and bytes of checkpoint, model and adapter.

python benchmarks/lora.py --data DIR --out results/benchmarks/lora.json

Each run is a process, so that its peak memory is its own. It is added to the file when it is finished, and the same
command continues where an earlier one stopped. Full fine-tuning and LoRA differ in nothing but LoRA and the learning
rate. An idle machine is needed for the seconds to mean anything.
"""

import statistics
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from machine import Parts, options
from measuring import fresh

import finetune

ABOUT = "LoRA and full fine-tuning: headline score on dev, seconds, bytes of memory and files"
TASKS: dict[str, dict[str, Any]] = {
    "mrpc": {},
    "cola": {},
    "conll-2003": {"limit": 4_000, "options": {"context": "sentence"}},  # of 14,041 sentences, to end within an hour
}
RECIPES = {"mrpc": "glue-mrpc", "cola": "glue-cola"}
METHODS: dict[str, dict[str, Any]] = {
    "full": {"train": {"learning_rate": 2e-4}},  # of MiniLM in the other measurements of this repository
    "LoRA": {"lora": 8, "adapter": True, "train": {"learning_rate": 1e-3}},  # 5e-4 learned less on 800 rows
}
FIRST_SEED = 42
MEASURES = ("score", "seconds", "examples_per_second", "peak_memory_bytes", "checkpoint_bytes", "model_bytes")


def measured(key: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """Trains one run in this process, with a checkpoint from the first update on."""
    sizes: list[int] = []

    def watch(event: Any) -> None:
        if type(event).__name__ == "EpochDone":
            sizes.extend(file.stat().st_size for file in shared["out"].rglob("checkpoints/*.pt"))

    settings = {**TASKS[key["task"]], **METHODS[key["method"]], **shared, "seed": key["seed"], "max_length": 128}
    settings["train"] = {"batch_size": 32, "epochs": 3, **settings["train"]}
    run = finetune.run(
        RECIPES.get(key["task"], key["task"]), device="cpu", force=True, checkpoint_minutes=0, callbacks=watch,
        progress=False, **settings,
    )  # fmt: skip
    record, model = run.records[0], Path(run.folder) / "model"
    adapter = model / "adapter" / "adapter_model.safetensors"
    return {
        "id": record.id,
        "score": record.scores["dev"][record.headline],
        "headline": record.headline,
        "seconds": record.seconds["training"],
        "examples_per_second": record.examples_per_second,
        "peak_memory_bytes": record.peak_memory_bytes,
        "checkpoint_bytes": max(sizes),
        "model_bytes": (model / "model.safetensors").stat().st_size,
        "adapter_bytes": adapter.stat().st_size if adapter.is_file() else None,
        "trained_weights": record.parameters["trained"],
        "weights": record.parameters["all"],
    }


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By task and method: the mean of each measure over seeds, and the scores' standard deviation."""
    found: dict[str, Any] = {}
    for task, method in product(TASKS, METHODS):
        mine = [run for run in runs if (run["task"], run["method"]) == (task, method)]
        if not mine:
            continue
        line = {name: statistics.fmean(run[name] for run in mine) for name in MEASURES}
        found.setdefault(task, {})[method] = {
            "seeds": len(mine),
            "headline": mine[0]["headline"],
            **line,
            "score_sd": statistics.stdev(run["score"] for run in mine) if len(mine) > 1 else None,
            "adapter_bytes": mine[0]["adapter_bytes"],
            "trained_share": mine[0]["trained_weights"] / mine[0]["weights"],
        }
    return found


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, data=Path, tasks=tuple(TASKS), seeds=3, model="minilm", limit=int, runs=Path("build/lora"))
    settings = {"model": given.model, "limit": given.limit, "tasks": TASKS, "methods": METHODS}
    shared = {"model": given.model, "data_folder": given.data, "out": given.runs.resolve()}
    shared |= {"limit": given.limit} if given.limit else {}
    parts = Parts(given.out, ABOUT, key="runs", settings=settings)
    for seed, task, method in product(range(given.seeds), given.tasks, METHODS):
        key = {"task": task, "method": method, "seed": FIRST_SEED + seed}
        parts.measure(key, fresh, measured, key, shared)
    parts.write(summary=summary(parts.read()["runs"]))


if __name__ == "__main__":
    main()
