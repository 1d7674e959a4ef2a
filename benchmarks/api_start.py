"""Seconds from `import finetune` to the first update of `finetune.run` on a DataFrame, in a new process.

python benchmarks/api_start.py --out results/benchmarks/api_start.json

The rows are made up, no more than a batch holds, so that an epoch is one update, whose event comes at once. `tiny` is a
random BERT of 2 layers: its time is that of imports and of preparing a run; `minilm` adds a real encoder.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
from dated import out_parser, write_json
from predict_speed import tiny_encoder

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
import sys, time
started = time.perf_counter()
import finetune
imported = time.perf_counter()
import pandas as pd
rows = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(36)]
df = pd.DataFrame(rows, columns=["review", "stars"])
first = []

def watch(event):
    if isinstance(event, finetune.events.Updates) and not first:
        first.append(time.perf_counter())

finetune.run(
    df, text="review", label="stars", model=sys.argv[1], out=sys.argv[2], callbacks=watch, device="cpu",
    max_length=16, train={"epochs": 1},
)
print(imported - started, first[0] - started, time.perf_counter() - started)
"""
PARTS = ("import", "first_update", "finished")


def measured(model: str, folder: Path) -> dict[str, float]:
    """Seconds since the start until each of PARTS, of one new process."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "FINETUNE_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, model, str(folder / "runs")], capture_output=True, text=True, env=environment
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return dict(zip(PARTS, map(float, done.stdout.split()), strict=True))


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Time from the import to the first update", required=False)
    parser.add_argument("--rounds", type=int, default=5, help="new processes for each encoder")
    options = parser.parse_args()
    rounds: dict[str, list[dict[str, float]]] = {"tiny": [], "minilm": []}
    with tempfile.TemporaryDirectory() as name:
        tiny = str(tiny_encoder(Path(name) / "tiny"))
        facts = machine.facts()
        for number in range(options.rounds):
            for encoder, model in (("tiny", tiny), ("minilm", "minilm")):
                rounds[encoder].append(measured(model, Path(name) / f"{encoder}-{number}"))
    medians = {
        encoder: {part: statistics.median(one[part] for one in some) for part in PARTS}
        for encoder, some in rounds.items()
    }
    for encoder, parts in medians.items():
        print(encoder, ", ".join(f"{part} {seconds:.2f} s" for part, seconds in parts.items()))
    result = {"about": "seconds from import to the first update", **facts, "seconds": medians, "rounds": rounds}
    write_json(options.out, result)


if __name__ == "__main__":
    main()
