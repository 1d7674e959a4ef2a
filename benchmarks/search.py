"""A search against a grid and against random settings, at equal cost: the score of each winner on held-out rows.

python benchmarks/search.py --data DIR --out results/benchmarks/search.json

All methods try as many settings of one space, with the same seeds, on the same training rows; each chooses by the mean
on dev, and its winner is scored once on a fifth of the training rows, which no trial has seen. `search, halving` stops
the worse half early, and so costs less. Runs that are there are not trained again, and a method is added to the file
when it is done: the same command continues where an earlier one stopped.
"""

import argparse
import json
import math
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine

import finetune
from finetune.data.atomic import write_atomically

ROOT = Path(__file__).resolve().parents[1]
ABOUT = "winners of a search, a grid and random settings: headline score on dev and on held-out training rows"
TASKS = ("glue-rte", "glue-mrpc", "glue-cola", "glue-stsb", "wnut-17")
GRID: dict[str, list[Any]] = {  # the paper's (appendix A.3), with learning rates for a small encoder
    "train.batch_size": [16, 32],
    "train.learning_rate": [5e-5, 1e-4, 2e-4],
    "train.epochs": [2, 3, 4],
}
RATES = (2e-5, 5e-4)
SPACE: dict[str, Any] = {
    "train.batch_size": [16, 32],
    "train.learning_rate": {"low": RATES[0], "high": RATES[1], "log": True},
    "train.epochs": {"low": 2, "high": 4},
}
METHODS = ("grid", "random", "search", "search, halving")
TEST_SHARE = 0.2


def points(task: str, count: int) -> list[dict[str, list[Any]]]:
    """Random settings of the space, each as a space of one point."""
    generator = random.Random(task)
    return [
        {
            "train.batch_size": [generator.choice([16, 32])],
            "train.learning_rate": [float(f"{math.exp(generator.uniform(*map(math.log, RATES))):.4g}")],
            "train.epochs": [generator.randint(2, 4)],
        }
        for _ in range(count)
    ]


def searches(task: str, method: str, trials: int, shared: dict[str, Any]) -> list[finetune.Search]:
    """The searches of a method: for random settings one a point."""
    if method == "grid":
        return [finetune.search(task, grid=GRID, trials=trials, **shared)]
    if method == "random":
        return [finetune.search(task, space=point, trials=1, **shared) for point in points(task, trials)]
    prune: Any = "halving" if method.endswith("halving") else "none"
    return [finetune.search(task, space=SPACE, trials=trials, prune=prune, **shared)]


def measured(found: Sequence[finetune.Search]) -> dict[str, Any]:
    """The winner's scores, and what was trained."""
    metric = found[0].metric
    best = max(found, key=lambda one: metric.rank(statistics.fmean(one.winner.scores)))
    trials = [trial for one in found for trial in one.found]
    assert best.held_out is not None
    return {
        "metric": metric.name,
        "dev": statistics.fmean(best.winner.scores),
        "optimism": best.optimism,
        "held_out": best.held_out.summary.mean,
        "held_out_sd": best.held_out.summary.sd,
        "settings": dict(best.winner.settings),
        "trials": len(trials),
        "epochs": sum(
            len(trial.runs) * trial.pruned_at if trial.pruned_at else sum(len(r.epochs) for r in trial.records)
            for trial in trials
        ),
    }


def main() -> None:
    """Measures what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--trials", type=int, default=18, help="settings of each method; the grid has 18")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--limit", type=int, help="rows of each split")
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "search", help="folder of runs")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    settings = {"trials": given.trials, "seeds": given.seeds, "model": str(given.model), "limit": given.limit}
    known: dict[str, Any] = json.loads(given.out.read_text()) if given.out.is_file() else {}
    if known and known["settings"] != settings:
        raise SystemExit(f"{given.out} was measured with other settings: {known['settings']}")
    results: dict[str, Any] = known.get("results", {})
    shared = {"seeds": given.seeds, "model": given.model, "out": given.runs, "data_folder": given.data}
    shared |= {"test_share": TEST_SHARE, **({"limit": given.limit} if given.limit else {})}
    for task in given.tasks:
        for method in METHODS:
            if method in results.get(task, {}):
                continue
            found = measured(searches(task, method, given.trials, shared))
            results.setdefault(task, {})[method] = found
            print(f"{task}, {method}: dev {found['dev']:.4f}, held out {found['held_out']:.4f}", flush=True)
            facts = {"about": ABOUT, "settings": settings, **machine.facts(), "results": results}
            given.out.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(given.out, json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
