"""A search against a grid and against random settings, at equal cost: the score of each winner on held-out rows.

python benchmarks/search.py --data DIR --out results/benchmarks/search.json

All methods try as many settings of one space, with the same seeds, on the same training rows; each chooses by the mean
on dev, and its winner is scored once on a third of the training rows, which no trial has seen. A task is added to the
file when it is done, and its models are deleted: the same command continues where an earlier one stopped, and several
with other `--tasks` may run at a time.
"""

import math
import random
import shutil
from pathlib import Path
from typing import Any

from machine import Parts, options

import finetune
from finetune.runs.record_files import load_record

ABOUT = "winners of a search, a grid and random settings: headline score on dev and on held-out training rows"
TASKS = ("glue-sst2", "glue-stsb", "glue-mrpc", "glue-cola", "conll-2003")
GRID: dict[str, list[Any]] = {  # as dense as fits the range, in the form of the paper's (appendix A.3)
    "train.learning_rate": [2e-5, 5e-5, 1e-4, 2e-4, 5e-4],
    "train.epochs": [1, 2, 3],
}
RATES = (2e-5, 5e-4)
SPACE: dict[str, Any] = {
    "train.learning_rate": {"low": RATES[0], "high": RATES[1], "log": True},
    "train.epochs": {"low": 1, "high": 3},
}
METHODS = ("grid", "random", "search")
TEST_SHARE = 1 / 3


def spaces(task: str, method: str, trials: int) -> list[dict[str, Any]]:
    """The settings of a method's searches: of random settings each point is a space."""
    if method != "random":
        return [{"trials": trials, **({"grid": GRID} if method == "grid" else {"space": SPACE})}]
    generator, points = random.Random(task), []
    for _ in range(trials):
        rate = float(f"{math.exp(generator.uniform(*map(math.log, RATES))):.4g}")
        points.append({"train.learning_rate": [rate], "train.epochs": [generator.randint(1, 3)]})
    return [{"trials": 1, "space": point} for point in points]


def measured(task: str, trials: int, folder: Path, shared: dict[str, Any]) -> dict[str, Any]:
    """By method the winner's scores, and what was trained."""
    found = {}
    for method in METHODS:
        runs = folder / task / method
        searches = [finetune.search(task, out=runs, **space, **shared) for space in spaces(task, method, trials)]
        metric = searches[0].metric
        best = max(searches, key=lambda search: metric.rank(search.summary.mean))
        assert best.held_out is not None
        found[method] = {
            "metric": metric.name,
            "dev": best.summary.mean,
            "optimism": None,
            "held_out": best.held_out.mean,
            "held_out_sd": best.held_out.sd,
            "settings": best.settings,
            "trials": sum(len(search.trials) for search in searches),
            "epochs": sum(len(load_record(file).epochs) for file in runs.glob("*/*/record.json")),
        }
        for models in runs.glob("*/*/model"):  # 90 MB each
            shutil.rmtree(models)
    return found


def main() -> None:
    """Measures what is missing."""
    given = options(
        __doc__, tasks=TASKS, trials=15, seeds=2, model="minilm", limit=600, data=Path, runs=Path("build/search")
    )
    of_runs = {"seeds": given.seeds, "model": given.model, "limit": given.limit}
    settings = of_runs | {"trials": given.trials, "space": SPACE, "grid": GRID, "test_share": TEST_SHARE}
    shared = of_runs | {"data_folder": given.data, "test_share": TEST_SHARE}
    parts = Parts(given.out, ABOUT, key="results", settings=settings)
    for task in given.tasks:
        parts.measure(task, measured, task, given.trials, given.runs, shared)


if __name__ == "__main__":
    main()
