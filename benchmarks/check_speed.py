"""Time and memory of `finetune check` on a large synthetic CSV file.

python benchmarks/check_speed.py --out results/benchmarks/check_speed.json

Texts are random words, about 200 bytes a row, some of them copies of earlier ones. Each round runs the command in a
separate process; the memory is the peak over all rounds.
"""

import csv
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import machine
from dated import out_parser, write_json

WORDS, IN_A_ROW = 20_000, 30
COPIES = 0.02  # share of the rows whose text is a copy
LABELS = ("positive", "negative", "neutral")


def rows(count: int) -> Iterator[tuple[str, str]]:
    """Texts with labels; deterministic."""
    generator = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(generator.choices(letters, k=generator.randint(2, 9))) for _ in range(WORDS)]
    kept = ["the first text"]
    for _ in range(count):
        copied = generator.random() < COPIES
        text = generator.choice(kept) if copied else " ".join(generator.choices(words, k=IN_A_ROW))
        if generator.random() < COPIES:
            kept.append(text)
        yield text, generator.choice(LABELS)


def seconds(file: Path) -> float:
    """Wall time of one check, including process start-up."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "finetune", "check", file, "--json"], capture_output=True, text=True)
    if done.returncode != 0 or "duplicate" not in done.stdout:
        raise SystemExit(f"the check ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - start


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Time and memory of `finetune check`", required=False)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the file")
    parser.add_argument("--rounds", type=int, default=1, help="times that the file is checked")
    options = parser.parse_args()
    facts = machine.facts()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made_up.csv"
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows([("text", "label"), *rows(options.rows)])
        times = [seconds(file) for _ in range(options.rounds)]
        size = file.stat().st_size
    result = {
        "rows": options.rows,
        "megabytes": size / 1e6,
        "seconds": statistics.median(times),
        "every_round": times,
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6,
    }
    print(json.dumps(result))
    write_json(options.out, {"about": "finetune check", **facts, **result})


if __name__ == "__main__":
    main()
