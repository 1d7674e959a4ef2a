"""A search against a grid and against random settings, at equal cost: the score of each winner on held-out rows.

python benchmarks/search.py --data DIR --out results/benchmarks/search.json

All methods try as many settings of one space, with the same seeds, on the same training rows; each chooses by the mean
on dev, and its winner is scored once on a third of the training rows, which no trial has seen. A method is added to the
file when it is done, and its models are deleted: the same command continues where an earlier one stopped, and several
with other `--tasks` may run at a time.
"""

import json
import math
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
from dated import out_parser
from filelock import FileLock

import finetune
from finetune.data.atomic import write_atomically
from finetune.runs.record_files import load_record

ROOT = Path(__file__).resolve().parents[1]
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


def points(task: str, count: int) -> list[dict[str, list[Any]]]:
    """Random settings of the space, each as a space of one point."""
    generator = random.Random(task)
    return [
        {
            "train.learning_rate": [float(f"{math.exp(generator.uniform(*map(math.log, RATES))):.4g}")],
            "train.epochs": [generator.randint(1, 3)],
        }
        for _ in range(count)
    ]


def searches(task: str, method: str, trials: int, shared: dict[str, Any]) -> list[finetune.Search]:
    """The searches of a method: for random settings one a point."""
    if method == "grid":
        return [finetune.search(task, grid=GRID, trials=trials, **shared)]
    if method == "random":
        return [finetune.search(task, space=point, trials=1, **shared) for point in points(task, trials)]
    return [finetune.search(task, space=SPACE, trials=trials, **shared)]


def measured(found: Sequence[finetune.Search]) -> dict[str, Any]:
    """The winner's scores, and what was trained."""
    metric = found[0].metric
    best = max(found, key=lambda one: metric.rank(one.summary.mean))
    assert best.held_out is not None
    return {
        "metric": metric.name,
        "dev": best.summary.mean,
        "optimism": None,
        "held_out": best.held_out.mean,
        "held_out_sd": best.held_out.sd,
        "settings": best.settings,
        "trials": sum(len(one.trials) for one in found),
        "epochs": epochs_of(found[0].run.out),
    }


def epochs_of(runs: Path) -> int:
    """The number of epochs of all runs of a method."""
    return sum(len(load_record(file).epochs) for file in runs.glob("*/*/record.json"))


def main() -> None:
    """Measures what is missing in the file."""
    parser = out_parser(__doc__)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--trials", type=int, default=15, help="settings of each method; the grid has 15")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--limit", type=int, default=600, help="rows of each split")
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "search", help="folder of runs")
    given = parser.parse_args()
    of_runs = {name: getattr(given, name) for name in ("seeds", "model", "limit")}
    settings = of_runs | {"trials": given.trials, "space": SPACE, "grid": GRID, "test_share": TEST_SHARE}
    shared = of_runs | {"data_folder": given.data, "test_share": TEST_SHARE}
    for task in given.tasks:
        for method in METHODS:
            if method in results(given.out, settings).get(task, {}):
                continue
            runs = given.runs / task / method
            found = measured(searches(task, method, given.trials, shared | {"out": runs}))
            print(f"{task}, {method}: dev {found['dev']:.4f}, held out {found['held_out']:.4f}", flush=True)
            add(given.out, settings, task, method, found)
            for models in runs.glob("*/*/model"):  # 90 MB each
                shutil.rmtree(models)


def results(file: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """What is measured already, by task and method. Ends the command where that was with other settings."""
    known: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {"settings": settings}
    if known["settings"] != settings:
        raise SystemExit(f"{file} was measured with other settings: {known['settings']}")
    found: dict[str, Any] = known.get("results", {})
    return found


def add(file: Path, settings: dict[str, Any], task: str, method: str, found: dict[str, Any]) -> None:
    """Adds a result to those of the file."""
    lock = ROOT / "build" / "search.lock"
    for folder in (file.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with FileLock(lock):
        every = results(file, settings)
        every.setdefault(task, {})[method] = found
        facts = {"about": ABOUT, "settings": settings, **machine.facts(), "results": every}
        write_atomically(file, json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
