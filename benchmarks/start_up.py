"""Wall time of the commands that do not train, including process start-up.

python benchmarks/start_up.py --out results/benchmarks/start_up.json

Records are those of results/, and 10,000 copies of them in a temporary folder. `compare` gets two short quickstart
runs, trained first. The package of this checkout is timed.
"""

import argparse
import csv
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import machine
from dated import add_to

ROOT = Path(__file__).resolve().parents[1]
RESULTS = str(ROOT / "results")
RECORDS, ROWS, SMALL = 10_000, 1_000, 100
TEXT = "the film was a story of people in town and their house by the sea with music that nobody hears"
OPINIONS = {"positive": ("lovely", "witty", "warm"), "negative": ("dull", "grim", "tedious")}


def commands(folder: Path) -> dict[str, list[str]]:
    """The timed commands, by name."""
    runs = [str(record.parent) for record in sorted((folder / "runs").glob("*/*/record.json"))]
    return {
        "--help": ["--help"],
        "ls": ["ls", "--out", RESULTS],
        "ls, 10,000 records": ["ls", "--out", str(folder / "many")],
        "show RECIPE": ["show", "glue-mrpc"],
        "show RUN": ["show", "paraphrase", "--out", RESULTS],
        "table": ["table", "glue", "--out", RESULTS],
        "compare": ["compare", *runs],
        "init": ["init", str(folder / "small.csv")],
        "check, 1,000 rows": ["check", str(folder / "rows.csv"), "model=minilm"],
    }


def run(arguments: list[str]) -> float:
    """Seconds of one command, in a separate process."""
    start = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-m", "finetune", *arguments], capture_output=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()}")
    return time.perf_counter() - start


def prepare(folder: Path) -> None:
    """Two files of reviews, 10,000 records and two runs."""
    for name, count in {"rows.csv": ROWS, "small.csv": SMALL}.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows([("text", "label"), *reviews(count)])
    records = [json.loads(file.read_text()) for file in sorted(Path(RESULTS).glob("*/*/record.json"))]
    for number, record in zip(range(RECORDS), itertools.cycle(records), strict=False):
        copy = record | {"id": f"{number:010x}"}
        run_folder = folder / "many" / copy["task"] / copy["id"]
        run_folder.mkdir(parents=True)
        (run_folder / "record.json").write_text(json.dumps(copy, indent=2))
    for seed in (1, 2):
        settings = ["train.epochs=1", f"seed={seed}", "--limit", "64", "--out", str(folder / "runs")]
        run(["run", "quickstart", *settings])


def reviews(count: int) -> Iterator[tuple[str, str]]:
    """Texts of 8 to 30 words with labels; deterministic."""
    generator = random.Random(0)
    for number in range(count):
        label = generator.choice(sorted(OPINIONS))
        words = generator.choices(TEXT.split(), k=generator.randint(6, 28))
        yield " ".join([*words, generator.choice(OPINIONS[label]), str(number)]), label


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description="Time of the commands that do not train")
    parser.add_argument("--rounds", type=int, default=5, help="times that each command is run")
    parser.add_argument("--out", type=Path, help="JSON file to add to")
    options = parser.parse_args()
    facts = machine.facts()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        rounds = [{name: run(a) for name, a in commands(Path(folder)).items()} for _ in range(options.rounds)]
    seconds = {name: [times[name] for times in rounds] for name in rounds[0]}
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    print("\n".join(f"{name:<20} {median:6.2f} s" for name, median in medians.items()))
    add_to(options.out, "start-up of commands", {**facts, "seconds": medians, "every_round": seconds})


if __name__ == "__main__":
    main()
