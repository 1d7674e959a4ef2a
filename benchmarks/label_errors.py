"""How many wrong labels `finetune.label_errors` finds: sentences of SST-2 and pairs of MRPC, some labels changed.

python benchmarks/label_errors.py --out results/benchmarks/label_errors.json

The rows and the changed labels are drawn with a seed; the encoder is MiniLM. A finished draw is kept, so that the same
command goes on.
"""

import json
import random
from itertools import product
from typing import Any

import machine
import pandas as pd
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.task_types.registry import find

ROWS, CHANGED = 400, 20
DEPTHS = (20, 40, 60, 80, 100)  # rows that are read from the top
PROBE: dict[str, Any] = {"frozen": True, "train.solver": "logistic", "pooling": "mean"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sentences": ("sst2", {}),
    "sentences, linear probe": ("sst2", PROBE),
    "sentences, 10 epochs": ("sst2", {"train.epochs": 10}),
    "pairs": ("mrpc", {}),
    "pairs, linear probe": ("mrpc", PROBE),
}


def drawn(name: str, seed: int) -> tuple[pd.DataFrame, set[str]]:
    """The rows with their ids, and the ids of those whose label was changed."""
    task = find(name)
    draw = random.Random(seed)
    rows = draw.sample(list(task.load(source_of(None), "train").rows), ROWS)
    changed = set(draw.sample(range(ROWS), CHANGED))
    names = sorted({str(row.gold) for row in rows})
    marks = [names[(names.index(str(row.gold)) + (number in changed)) % 2] for number, row in enumerate(rows)]
    texts = {f"sentence{n + 1}": [row.texts[n] for row in rows] for n in range(len(rows[0].texts))}
    return pd.DataFrame({"id": range(ROWS), **texts, "label": marks}), set(map(str, changed))


def found_at(case: str, seed: int) -> list[int]:
    """How many changed labels are among the first rows, for each of DEPTHS."""
    name, settings = CASES[case]
    frame, changed = drawn(name, seed)
    columns = [column for column in frame.columns if column.startswith("sentence")]
    given = {"text": columns, "label": "label", **settings}
    ranked = finetune.label_errors(frame, **given)
    return [len(changed & set(map(str, ranked["id"][:depth]))) for depth in DEPTHS]


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Changed labels that are found", required=False)
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    kept = json.loads(options.out.read_text())["found"] if options.out and options.out.is_file() else {}
    found = {case: kept.get(case, []) for case in CASES}
    for seed, case in product(range(options.draws), CASES):
        if len(found[case]) > seed:
            continue
        found[case].append(found_at(case, seed))
        print(seed, case, dict(zip(DEPTHS, found[case][-1], strict=True)), flush=True)
        facts = {"about": "changed labels among the first rows of finetune.label_errors", **machine.facts()}
        result = {**facts, "model": "minilm", "rows": ROWS, "changed": CHANGED, "depths": DEPTHS, "found": found}
        write_json(options.out, result)


if __name__ == "__main__":
    main()
