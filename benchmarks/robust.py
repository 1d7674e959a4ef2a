"""The share of predictions that flip when a dev row is changed in a way that keeps its label, on four shipped tasks.

python benchmarks/robust.py --work build/robust --out results/benchmarks/robust.json

A finished task is kept, so that the same command goes on.
"""

import json
import time
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

import finetune
from finetune.inference.predictor import load_predictor
from finetune.inference.robust.changed_rows import robustness
from finetune.runs.folder import RunFolder

RECIPES = ("glue-sst2", "glue-mrpc", "nsmc", "conll-2003")
TRAINING: dict[str, Any] = {"model": "minilm", "train.epochs": 2, "train.learning_rate": 1e-4, "max_length": 64}


def measured(recipe: str, limit: int, work: Path) -> dict[str, Any]:
    """The score of a run on so many rows, and the rows and flips of each kind of change."""
    started = time.process_time()
    run = finetune.train(recipe, out=work, progress=False, limit=limit, **TRAINING)
    record = run.records[0]
    trained = time.process_time()
    found = robustness(load_predictor(run.folder, out=work), RunFolder(run.folder))
    return {
        "run": record.id, "rows": record.rows["train"], "metric": record.headline,
        "score": record.scores[found.split][record.headline],
        "kinds": {one.kind.name: [one.rows, len(one.flips)] for one in found.kinds},
        "cpu_seconds": {"training": trained - started, "changes": time.process_time() - trained},
    }  # fmt: skip


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("Predictions that flip when a row is changed", required=False)
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=RECIPES)
    parser.add_argument("--limit", type=int, default=800)
    parser.add_argument("--work", type=Path, default=Path("build/robust"), help="folder of the runs")
    options = parser.parse_args()
    done = json.loads(options.out.read_text())["tasks"] if options.out and options.out.is_file() else {}
    for recipe in options.recipes:
        if recipe in done:
            continue
        done[recipe] = measured(recipe, options.limit, options.work)
        print(recipe, json.dumps(done[recipe]), flush=True)
        facts = {"about": "predictions that flip when a dev row is changed", **machine.facts(), "model": "minilm"}
        write_json(options.out, {**facts, "tasks": done})


if __name__ == "__main__":
    main()
