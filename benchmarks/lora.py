"""LoRA compared with full fine-tuning: score, seconds, memory, and bytes of checkpoint, model and adapter.

python benchmarks/lora.py --data DIR --out results/benchmarks/lora.json

Each run is a process, so that its peak memory is its own. It is added to the file when it is finished, and the same
command continues where an earlier one stopped. Full fine-tuning and LoRA differ in nothing but LoRA and the learning
rate. An idle machine is needed for the seconds to mean anything.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dated import resumed, write_json

from finetune.data.source import source_of
from finetune.runs.events import EpochDone, Event
from finetune.runs.folder import RunFolder
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.resolved_run import resolved_run
from finetune.training.prepare import plan_run
from finetune.training.run import run
from finetune.training.run_options import RunOptions, Saving

ROOT = Path(__file__).resolve().parents[1]
ABOUT = "LoRA and full fine-tuning: headline score on dev, seconds, bytes of memory and files"
TASKS: dict[str, dict[str, Any]] = {
    "mrpc": {},
    "cola": {},
    "conll-2003": {"limit": 4_000, "options": {"context": "sentence"}},  # of 14,041 sentences, to end within an hour
}
METHODS: dict[str, dict[str, Any]] = {
    "full": {"train": {"learning_rate": 2e-4}},  # of MiniLM in the other measurements of this repository
    "LoRA": {"lora": 8, "adapter": True, "train": {"learning_rate": 1e-3}},  # 5e-4 learned less on 800 rows
}
FIRST_SEED = 42
MEASURES = ("score", "seconds", "examples_per_second", "peak_memory_bytes", "checkpoint_bytes", "model_bytes")


def recipe_of(task: str, method: str, seed: int, *, model: str, limit: int | None) -> Recipe:
    """The recipe of one run."""
    table = {"task": task, "model": model, "seed": seed, **TASKS[task], **METHODS[method]}
    return parse(table | ({"limit": limit} if limit else {}), origin=f"{task}, {method}")


def measured(recipe: Recipe, data: Path | None, runs: Path) -> dict[str, Any]:
    """Trains one run in this process, with a checkpoint from the first update on."""
    source = source_of(data)
    planned = plan_run(resolved_run(recipe), source=source, device="cpu")
    folder = RunFolder.of(runs, planned.task.name, planned.id)
    force = folder.record_file.is_file()  # finished, but not measured
    sizes: list[int] = []

    def watch(event: Event) -> None:
        if isinstance(event, EpochDone):
            sizes.extend(file.stat().st_size for file in folder.path.rglob("checkpoints/*.pt"))

    record = run(
        resolved_run(recipe),
        RunOptions(source=source, out=runs, device="cpu", force=force, saving=Saving(minutes=0)),
        watch=watch,
    )
    adapter = folder.model / "adapter" / "adapter_model.safetensors"
    return {
        "id": record.id,
        "score": record.scores["dev"][record.headline],
        "headline": record.headline,
        "seconds": record.seconds["training"],
        "examples_per_second": record.examples_per_second,
        "peak_memory_bytes": record.peak_memory_bytes,
        "checkpoint_bytes": max(sizes),
        "model_bytes": (folder.model / "model.safetensors").stat().st_size,
        "adapter_bytes": adapter.stat().st_size if adapter.is_file() else None,
        "trained_weights": record.parameters["trained"],
        "weights": record.parameters["all"],
        "load_after": os.getloadavg()[0],
    }


def in_a_process(key: Sequence[Any], options: argparse.Namespace) -> dict[str, Any]:
    """`measured` in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(key), "--model", options.model, "--runs", options.runs]
    command += ["--data", options.data] if options.data else []
    command += ["--limit", str(options.limit)] if options.limit else []
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By task and method: the mean of each measure over seeds, the scores' standard deviation, and shares of full."""
    found: dict[str, Any] = {}
    for task in TASKS:
        for method in METHODS:
            mine = [each for each in runs if (each["task"], each["method"]) == (task, method)]
            if not mine:
                continue
            means = {name: statistics.fmean(each[name] for each in mine) for name in MEASURES}
            spread = statistics.stdev(each["score"] for each in mine) if len(mine) > 1 else None
            line = {"seeds": len(mine), "headline": mine[0]["headline"], **means, "score_sd": spread}
            line["adapter_bytes"] = mine[0]["adapter_bytes"]
            line["trained_share"] = mine[0]["trained_weights"] / mine[0]["weights"]
            full = found.get(task, {}).get("full", line)
            line |= {f"{name} / full": line[name] / full[name] for name in MEASURES if name != "score"}
            found.setdefault(task, {})[method] = line
    return found


def main() -> None:
    """Measures what the file lacks, and writes it after each run."""
    parser = argparse.ArgumentParser(description="LoRA compared with full fine-tuning")
    parser.add_argument("--data", type=Path, help="folder with GLUE and CoNLL-2003; default: $FINETUNE_DATA")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--limit", type=int, help="rows of each split, to try it")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "lora", help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "lora.json", help="JSON file to write")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # [task, method, seed]: one run, in this process
    options = parser.parse_args()
    if options.one:
        recipe = recipe_of(*json.loads(options.one), model=options.model, limit=options.limit)
        print(json.dumps(measured(recipe, options.data, options.runs)))
        return
    settings = {"model": options.model, "limit": options.limit, "tasks": TASKS, "methods": METHODS}
    result = resumed(options.out, ABOUT, settings)
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for task in options.tasks:
            for method in METHODS:
                key = {"task": task, "method": method, "seed": seed}
                if any(key.items() <= each.items() for each in result["runs"]):
                    continue
                result["runs"].append(key | in_a_process(list(key.values()), options))
                result["summary"] = summary(result["runs"])
                write_json(options.out, result)
                print(json.dumps(result["runs"][-1]), flush=True)


if __name__ == "__main__":
    main()
