"""Several seeds as one: mean of the runs, soup of their weights, and their ensemble, on rows that chose nothing.

python benchmarks/soups.py --work build/soups --out results/benchmarks/soups.json

A draw is a training file of ROWS rows, of which a tenth is dev, and RUNS seeds of it. A finished draw is kept, so that
the same command goes on.
"""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json
from few_rows import SETS, write

import finetune

ROWS, RUNS, TEST_ROWS = 1_000, 5, 800
TRAINING: dict[str, Any] = {"train.epochs": 3, "train.learning_rate": 1e-4, "max_length": 64}


def files(name: str, draw: int, folder: Path) -> tuple[Path, Path]:
    """The training file of a draw, and the test file of all draws."""
    read = SETS[name][1]
    (header, train), (_, test) = read("train"), read("dev")
    folder.mkdir(parents=True, exist_ok=True)
    drawn, scored = random.Random(draw).sample(train, ROWS), random.Random(0).sample(test, min(TEST_ROWS, len(test)))
    parts = (f"{name}-{draw}", drawn), (f"{name}-test", scored)
    one, other = (write(folder / path, header, [cells for cells, _ in rows]) for path, rows in parts)
    return one, other


def measured(name: str, draw: int, work: Path) -> dict[str, Any]:
    """The scores of the runs, of their mean, of the soup and of the ensemble on test."""
    train, test = files(name, draw, work)
    out = work / "results"
    run = finetune.train(str(train), test=str(test), seeds=RUNS, out=out, progress=False, **TRAINING)
    record = finetune.soup(run, out=out).record
    scores = {one.name: one.scores["test"][record.headline] for one in record.compared}
    return {
        "metric": record.headline,
        "scores": scores,
        "runs": [one.scores["test"][record.headline] for one in run.records],
    }


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("Soups and ensembles of several seeds")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=["sst2", "mrpc", "cola"])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path("build/soups"), help="folder of the files and runs")
    options = parser.parse_args()
    before = json.loads(options.out.read_text()) if options.out.is_file() else {"draws": {}}
    for draw, name in itertools.product(range(options.draws), options.sets):
        key = f"{name} {draw}"
        if key not in before["draws"]:
            before["draws"][key] = measured(name, draw, options.work)
            print(key, before["draws"][key], flush=True)
            facts = {"about": f"soups of {RUNS} runs on {ROWS:,} rows", **machine.facts(), "model": "minilm"}
            write_json(options.out, {**facts, "draws": before["draws"]})


if __name__ == "__main__":
    main()
