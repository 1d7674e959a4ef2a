"""GLUE tasks alone, together on one encoder, and together and then alone: dev scores of the same rows and updates.

python benchmarks/together.py --out results/benchmarks/together.json --seeds 5

Rows are drawn with a fixed seed, and each task has the same batches an epoch in every way. A finished seed and way is
kept, so that the same command goes on.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

import finetune

TASKS = ("cola", "mrpc", "rte", "stsb")
ALONE, TOGETHER, THEN, TWICE = "alone", "together", "together, then alone", "alone, twice as long"
WAYS = (ALONE, TOGETHER, THEN, TWICE)


def trained(name: str, settings: dict[str, Any], out: Path) -> finetune.Run:
    """A run with the settings that all share."""
    return finetune.train(name, out=out, progress=False, **settings)


def group(settings: dict[str, Any], out: Path) -> finetune.Run:
    """The run of all tasks together."""
    tasks = [{"task": name} for name in TASKS]
    return trained(f"glue-{TASKS[0]}", settings | {"together": {"tasks": tasks}}, out)


def measured(way: str, settings: dict[str, Any], epochs: int, out: Path) -> dict[str, float]:
    """The headline score of each task on dev."""
    settings = settings | {"train.epochs": 2 * epochs if way == TWICE else epochs}
    if way in (TOGETHER, THEN):
        run = group(settings, out)
    if way == TOGETHER:
        return {name: finetune.open_run(run.folder / name).record.score for name in TASKS}
    started = settings | ({"model": str(run.folder)} if way == THEN else {})
    return {name: trained(f"glue-{name}", started, out).record.score for name in TASKS}


def write(file: Path, options: argparse.Namespace, draws: dict[str, Any]) -> None:
    """The facts and all that was measured so far."""
    facts = {
        "about": "dev scores of GLUE tasks alone, together, and together and then alone", **machine.facts(),
        "model": options.model, "limit": options.limit, "max_length": options.max_length, "epochs": options.epochs,
        "batch_size": options.batch_size, "learning_rate": options.rate,
        "metrics": {name: finetune.ls().tasks[name][0] for name in TASKS},
    }  # fmt: skip
    write_json(file, {**facts, "draws": draws})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("GLUE tasks alone and together")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--limit", type=int, default=240, help="rows of each split")
    parser.add_argument("--max-length", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--work", type=Path, default=Path("build/together"), help="folder of the runs")
    options = parser.parse_args(arguments)
    draws = json.loads(options.out.read_text())["draws"] if options.out.is_file() else {}
    for seed in range(options.seeds):
        settings = {
            "model": options.model, "limit": options.limit, "max_length": options.max_length, "seed": seed,
            "train.batch_size": options.batch_size, "train.learning_rate": options.rate,
        }  # fmt: skip
        for way in WAYS:
            if way in draws.get(str(seed), {}):
                continue
            found = measured(way, settings, options.epochs, options.work)
            draws.setdefault(str(seed), {})[way] = found
            print(seed, way, {name: round(score, 3) for name, score in found.items()}, flush=True)
            write(options.out, options, draws)


if __name__ == "__main__":
    main()
