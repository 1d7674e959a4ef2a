"""What `finetune run` tells before it trains, next to what came: time, peak memory and score, on 30 files.

python benchmarks/told_before.py --out results/benchmarks/told_before.json

Files of ten data sets in three sizes, each the default run in a process of its own. Time is without the start of
Python; where it stopped early, the epochs that it trained are compared. Nothing else should use the machine.
"""

import json
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from machine import Parts, in_a_process, options
from rows import SETS, write

from finetune.runs.events import logged_events
from finetune.runs.record_files import load_record

SIZES = (100, 300, 1_200)
SEED = 20_261_128
SETTINGS = {
    "wiki-articles": ("text=text", "label=label", "shape=classification")
}  # few rows of many labels are asked about


def measured(name: str, size: int, folder: Path) -> dict[str, Any]:
    """The forecast of a run on so many rows of a data set, or all, and its record."""
    header, rows = SETS[name][1]("train")
    chosen = np.random.default_rng(SEED).permutation(len(rows))[:size]
    file = write(folder / name, header, [rows[index][0] for index in chosen])
    in_a_process(
        ["-m", "finetune", "run", str(file), *SETTINGS.get(name, ()), "--out", str(folder / "results")], folder
    )
    (run,) = (path.parent for path in (folder / "results").glob("*/*/record.json"))
    record, log = load_record(run / "record.json"), (run / "events.jsonl").read_text(encoding="utf-8")
    (told,) = (event for event in logged_events(log.splitlines()) if event["event"] == "forecast")
    epochs = len(record.epochs)
    score = record.scores["dev"][record.headline]
    return {
        "rows": len(chosen), "seconds": record.seconds["total"], "epochs": [epochs, told["parts"]],
        "told_seconds": told["seconds"] - (told["parts"] - epochs) * told["seconds_of_part"],
        "told_at_most": told["seconds"], "peak_memory_bytes": record.peak_memory_bytes,
        "told_bytes": told["peak_memory_bytes"], "metric": record.headline, "score": score, "told_score": told["score"],
    }  # fmt: skip


def summary(files: list[dict[str, Any]]) -> dict[str, Any]:
    """The shares of files that came as told."""
    ranges = [(file["score"], *file["told_score"]) for file in files if file["told_score"]]

    def within(told: str, came: str, share: float) -> float:
        return float(np.mean([abs(file[told] / file[came] - 1) <= share for file in files]))

    return {
        "files": len(files),
        "time_within_20_percent": within("told_seconds", "seconds", 0.2),
        "memory_within_15_percent": within("told_bytes", "peak_memory_bytes", 0.15),
        "with_a_range": len(ranges),
        "score_in_range": float(np.mean([low <= score <= high for score, low, high in ranges])),
        "median_width_of_range": float(np.median([high - low for _, low, high in ranges])),
    }


def main() -> None:
    """Measures what is missing, and sums it up."""
    given = options(__doc__, sets=tuple(SETS), sizes=SIZES)
    parts = Parts(given.out, "what a run tells before it trains, and what came", key="runs", model="minilm")
    for size, name in product(given.sizes, given.sets):
        with tempfile.TemporaryDirectory() as folder:
            parts.measure(f"{name} {size}", measured, name, size, Path(folder))
    parts.write(summary=summary([*parts.read()["runs"].values()]))
    print(json.dumps(parts.file["summary"], indent=1))


if __name__ == "__main__":
    main()
