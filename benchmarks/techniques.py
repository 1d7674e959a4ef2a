"""Settings of one technique compared with others: the headline score on dev and the seconds of training, over seeds.

python benchmarks/techniques.py optimizers --data DIR --out results/benchmarks/optimizers.json

A group's runs differ in nothing but what its methods name. A run is added to the file when it is finished, and the same
command continues where an earlier one stopped.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dated import resumed, write_json

from finetune.data.source import source_of
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe, parse
from finetune.task_types.resolved_run import resolved_run
from finetune.training.run import run
from finetune.training.run_options import RunOptions

ROOT = Path(__file__).resolve().parents[1]
ABOUT = "Settings of one technique compared: headline score on dev and seconds of training, over seeds"
FIRST_SEED = 42
PEAK = 2e-4  # of MiniLM in the other measurements of this repository
NOAM_FACTOR = 0.00784  # 300 rows, 4 epochs: a warm-up of 4 updates, at whose end this is a rate of PEAK
GROUPS: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]]]] = {  # tasks, then methods
    "optimizers": (
        {"sst2": {"limit": 300, "train": {"epochs": 4}}},
        {
            "AdamW, linear": {"train": {"learning_rate": PEAK}},
            "RAdam, no warm-up": {"train": {"solver": "radam", "warmup": 0.0, "learning_rate": PEAK}},
            "AdamW, noam": {"train": {"schedule": "noam", "noam_factor": NOAM_FACTOR}},
        },
    ),
}


def recipe_of(group: str, task: str, method: str, seed: int, *, limit: int | None) -> Recipe:
    """The recipe of one run."""
    tasks, methods = GROUPS[group]
    of_task, of_method = tasks[task], methods[method]
    train = {**of_task["train"], **of_method["train"]}
    table = {"task": task, "model": "minilm", "seed": seed, **of_task, **of_method, "train": train}
    return parse(table | ({"limit": limit} if limit else {}), origin=f"{task}, {method}")


def measured(recipe: Recipe, data: Path | None, runs: Path) -> dict[str, Any]:
    """Trains one run in this process."""
    options = RunOptions(source=source_of(data), out=runs, device="cpu")
    record = run(resolved_run(recipe), options, watch=unwatched)
    return {
        "id": record.id,
        "score": record.scores["dev"][record.headline],
        "test": record.scores.get("test", {}).get(record.headline),
        "headline": record.headline,
        "baselines": {name: scores[record.headline] for name, scores in record.baselines["dev"].items()},
        "seconds": record.seconds["training"],
        "load_after": os.getloadavg()[0],
    }


def summary(group: str, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By task and method: the scores' mean and standard deviation over seeds, and the mean seconds."""
    found: dict[str, Any] = {}
    tasks, methods = GROUPS[group]
    for task in tasks:
        for method in methods:
            mine = [each for each in runs if (each["task"], each["method"]) == (task, method)]
            if mine:
                scores = [each["score"] for each in mine]
                found.setdefault(task, {})[method] = {
                    "seeds": len(mine),
                    "headline": mine[0]["headline"],
                    "score": statistics.fmean(scores),
                    "score_sd": statistics.stdev(scores) if len(scores) > 1 else None,
                    "seconds": statistics.fmean(each["seconds"] for each in mine),
                }
    return found


def main() -> None:
    """Measures what the file lacks, and writes it after each run."""
    parser = argparse.ArgumentParser(description="Settings of one technique compared")
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--data", type=Path, help="folder with GLUE; default: $FINETUNE_DATA")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="rows of each split, to try it")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "techniques", help="folder of the runs")
    parser.add_argument("--out", type=Path, help="JSON file to write; default: build/GROUP.json")
    options = parser.parse_args()
    tasks, methods = GROUPS[options.group]
    out = options.out or ROOT / "build" / f"{options.group}.json"
    result = resumed(out, ABOUT, {"limit": options.limit, "tasks": tasks, "methods": methods})
    out.parent.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
            for method in methods:
                key = {"task": task, "method": method, "seed": seed}
                if any(key.items() <= each.items() for each in result["runs"]):
                    continue
                started = time.perf_counter()
                recipe = recipe_of(options.group, task, method, seed, limit=options.limit)
                result["runs"].append(key | measured(recipe, options.data, options.runs))
                result["summary"] = summary(options.group, result["runs"])
                write_json(out, result)
                print(f"{time.perf_counter() - started:.0f} s", json.dumps(result["runs"][-1]), flush=True)


if __name__ == "__main__":
    main()
