"""Grades as classes, as steps (CORN) and as numbers that are rounded: kappa, mean absolute error and accuracy.

python benchmarks/ordinal.py --out results/benchmarks/ordinal.json --ways probe --sizes 100 1000 --seeds 5

Trained whole, or as a linear probe of the frozen encoder, where only the loss differs. The grades are the scores of
STS-B and KorSTS, rounded to 0..5. A seed draws the training rows too; dev and test rows are the same for all. A
finished draw is kept, so that the same command goes on.
"""

import csv
import itertools
import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.metrics.ordinal import ordinal_metrics
from finetune.metrics.scores import accuracy
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.task_types.registry import find

GRADES = ("0", "1", "2", "3", "4", "5")
METRICS = (*ordinal_metrics(GRADES), accuracy)
DEV_ROWS, TEST_ROWS = 100, 500
METHODS: dict[str, dict[str, Any]] = {
    "classes": {"order": list(GRADES)},
    "corn": {"order": list(GRADES), "ordinal": True},
    "regression": {"shape": "regression"},
}
WAYS: dict[str, dict[str, Any]] = {
    "probe": {"frozen": True, "train.solver": "logistic", "pooling": "mean"},
    "whole": {},
}
Cells = tuple[str, str, str]


def graded(score: float) -> str:
    """A score from 0 to 5 as a grade; halves are rounded up."""
    return str(min(5, math.floor(float(score) + 0.5)))


def stsb(split: str) -> list[Cells]:
    """Pairs of STS-B with their grade."""
    rows = find("stsb").load(source_of(None), split).rows
    return [(row.text, row.pair, graded(row.gold)) for row in rows]


def korsts(split: str) -> list[Cells]:
    """Pairs of KorSTS with their grade."""
    root = source_of(None).folder
    assert root is not None
    lines = (root / "korsts" / f"sts-{split}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=False)) for line in lines[1:]]
    return [
        (row["sentence1"], row["sentence2"], graded(float(row["score"])))
        for row in rows
        if row.get("score") and row["sentence1"] and row["sentence2"]
    ]


SETS = {"stsb": ("STS-B, English", stsb), "korsts": ("KorSTS, Korean", korsts)}


def write(path: Path, rows: Sequence[Cells]) -> Path:
    """A CSV file of pairs with a grade."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("sentence1", "sentence2", "grade"), *rows])
    return path


def files(name: str, size: int, seed: int, folder: Path) -> dict[str, Path]:
    """The files of a draw: its training rows, and dev and test rows, from other halves of the dev split."""
    read = SETS[name][1]
    rest = random.Random(0).sample(read("dev"), DEV_ROWS + TEST_ROWS)
    train = random.Random(f"{size}:{seed}").sample(read("train"), size)
    return {
        "train": write(folder / f"{name}-{size}-{seed}.csv", train),
        "dev": write(folder / f"{name}-dev.csv", rest[:DEV_ROWS]),
        "test": write(folder / f"{name}-test.csv", rest[DEV_ROWS:]),
    }


def measured(given: dict[str, Path], seed: int, settings: dict[str, Any], out: Path) -> dict[str, Any]:
    """The scores of a run on test, its numbers rounded to grades."""
    started = time.process_time()
    run = finetune.train(
        str(given["train"]), dev=str(given["dev"]), test=str(given["test"]), model="minilm", seed=seed, out=out,
        progress=False, **settings,
    )  # fmt: skip
    lines = read_lines(RunFolder(run.folder), "test")
    golds = [str(int(float(line["gold"]))) for line in lines]
    answers = [_grade(line["prediction"]) for line in lines]
    scores = {metric.name: metric.score(golds, answers) for metric in METRICS if metric.score is not None}
    return {"run": run.id, "scores": scores, "cpu_seconds": time.process_time() - started}


def _grade(value: Any) -> str:
    return value if isinstance(value, str) else graded(max(0.0, float(value)))


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("Ordered labels: classes, CORN, and rounded numbers")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--work", type=Path, default=Path("build/ordinal"), help="folder of the files and runs")
    options = parser.parse_args()
    draws = json.loads(options.out.read_text())["draws"] if options.out.is_file() else {}
    every = (options.ways, options.sizes, range(options.seeds), options.sets, METHODS)
    for way, size, seed, name, method in itertools.product(*every):
        key = f"{way} {name} {size} {seed} {method}"
        if key in draws:
            continue
        given = files(name, size, seed, options.work)
        draws[key] = measured(given, seed, WAYS[way] | METHODS[method], options.work / "results")
        print(key, {metric: round(score, 3) for metric, score in draws[key]["scores"].items()}, flush=True)
        facts = {
            "about": "test scores of grades as classes, as steps, and as numbers that are rounded", **machine.facts(),
            "model": "minilm", "dev_rows": DEV_ROWS, "test_rows": TEST_ROWS,
            "sets": {each: words for each, (words, _) in SETS.items()},
        }  # fmt: skip
        write_json(options.out, {**facts, "draws": draws})


if __name__ == "__main__":
    main()
