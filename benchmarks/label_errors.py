"""How many wrong labels `finetune.label_errors` finds: SST-2 sentences of which some labels are changed.

python benchmarks/label_errors.py --out results/benchmarks/label_errors.json

The rows and the changed labels are drawn with a seed; the encoder is MiniLM, with the settings that a data file gets.
"""

import argparse
import json
import random
from pathlib import Path

import machine
import pandas as pd

import finetune
from finetune.data.source import source_of
from finetune.task_types.registry import find

ROWS, CHANGED = 400, 20
DEPTHS = (20, 40, 60, 80, 100)  # rows that are read from the top


def drawn(seed: int) -> tuple[pd.DataFrame, set[str]]:
    """The rows with their ids, and the ids of those whose label was changed."""
    task = find("sst2")
    draw = random.Random(seed)
    rows = draw.sample(list(task.load(source_of(None), "train").rows), ROWS)
    changed = set(draw.sample(range(ROWS), CHANGED))
    names = sorted({str(row.gold) for row in rows})
    marks = [names[(names.index(str(row.gold)) + (number in changed)) % 2] for number, row in enumerate(rows)]
    frame = pd.DataFrame({"id": range(ROWS), "text": [row.text for row in rows], "label": marks})
    return frame, set(map(str, changed))


def found_at(seed: int) -> list[int]:
    """How many changed labels are among the first rows, for each of DEPTHS."""
    frame, changed = drawn(seed)
    ranked = finetune.label_errors(frame)
    return [len(changed & set(map(str, ranked["id"][:depth]))) for depth in DEPTHS]


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description="Changed labels that are found")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    found = []
    for seed in range(options.draws):
        found.append(found_at(seed))
        print(seed, dict(zip(DEPTHS, found[-1], strict=True)), flush=True)
    if options.out is not None:
        facts = {"about": "changed labels among the first rows of finetune.label_errors", **machine.facts()}
        result = {**facts, "data": "sst2", "model": "minilm", "rows": ROWS, "changed": CHANGED}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps({**result, "depths": DEPTHS, "found": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
