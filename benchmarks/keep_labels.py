"""A label is added to a trained model: from zero on all rows, the run's encoder, its head too, also on all rows.

python benchmarks/keep_labels.py --work build/keep-labels --out results/benchmarks/keep_labels.json

Sentences of CoNLL-2003 with one type of entity: three types are the old labels, MISC is added. Nothing is chosen on the
rows that are scored: the last epoch is kept. A finished seed is kept, so that the same command goes on.
"""

import random
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

from machine import Parts, options
from rows import rows_of, tag_lines, types_of, write

import finetune
from finetune.runs.record import RunRecord

*OLD_TYPES, ADDED = TYPES = ("LOC", "ORG", "PER", "MISC")
OLD, NEW, ADDED_ROWS = 60, 10, 30  # training rows a label: before, new ones of old labels, of the added one
SCORED = 50  # rows a label
TRAINING: dict[str, Any] = {"train.epochs": 3, "train.select": "last", "train.patience": None, "progress": False}
AGAIN: dict[str, tuple[str, dict[str, Any]]] = {  # the rows, and settings
    "its encoder, a new head": ("new", {}),
    "keep_labels": ("new", {"keep_labels": True}),
    "keep_labels, all rows": ("all", {"keep_labels": True}),
}
SETS = ("labels", "tags")


def by_type(split: str) -> dict[str, list[Any]]:
    """The sentences of a split with entities of a single type, by that type."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in rows_of("conll-2003", split):
        types = types_of(row)
        if len(types) == 1 and len(row.words) > 3:
            found[types[0]].append(row)
    return found


def files(kind: str, seed: int, folder: Path) -> dict[str, str]:
    """The files of a seed: old, new and all training rows; rows to score of all labels, and of the old ones."""
    source = random.Random(seed)
    train, dev = by_type("train"), by_type("dev")
    drawn = {name: source.sample(train[name], OLD + ADDED_ROWS) for name in TYPES}
    old = [row for name in OLD_TYPES for row in drawn[name][:OLD]]
    new = [row for name in OLD_TYPES for row in drawn[name][OLD : OLD + NEW]] + drawn[ADDED][:ADDED_ROWS]
    scored = {name: random.Random(0).sample(dev[name], SCORED) for name in TYPES}
    parts = {"old": old, "new": new, "all": [*old, *new]}
    for rows in parts.values():
        source.shuffle(rows)
    parts["old-dev"] = [row for name in OLD_TYPES for row in scored[name]]
    parts["new-dev"] = [*parts["old-dev"], *scored[ADDED]]
    header = ("text", "label") if kind == "labels" else ()
    return {
        name: str(write(folder / f"{kind}-{seed}-{name}", header, [
            (" ".join(row.words), types_of(row)[0]) if header else tag_lines(row) for row in rows
        ]))
        for name, rows in parts.items()
    }  # fmt: skip


def metric_of(record: RunRecord) -> str:
    """Accuracy, or F1 of entities: in macro F1 one prediction of the added label counts as a whole class of old dev."""
    return "accuracy" if "accuracy" in record.scores["dev"] else record.headline


def measured(kind: str, seed: int, work: Path) -> dict[str, Any]:
    """The scores of each way, on the same rows."""
    file, shared = files(kind, seed, work), {"out": work / "results", "seed": seed, **TRAINING}

    def trained(rows: str, **settings: Any) -> dict[str, Any]:
        run = finetune.run(file[rows], dev=file["new-dev"], test=file["old-dev"], **shared, **settings)
        record = run.records[0]
        name = metric_of(record)
        return {
            "metric": name, "run": record.id, "rows": record.rows["train"], "new dev": record.scores["dev"][name],
            "added label": record.scores["dev"].get(f"{ADDED}/f1"), "old dev": record.scores["test"][name],
        }  # fmt: skip

    first = finetune.run(file["old"], dev=file["old-dev"], **shared)
    record = first.records[0]
    ways = {name: trained(rows, model=str(first.folder), **settings) for name, (rows, settings) in AGAIN.items()}
    old = {"rows": record.rows["train"], "old dev": record.scores["dev"][metric_of(record)]}
    return {"the old model": old, "from zero, all rows": trained("all"), **ways}


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, seeds=3, sets=SETS, work=Path("build/keep-labels"))
    about = "a label is added to a trained model: scores on rows of all labels, and of the old ones"
    sizes = {"old": OLD, "new": NEW, "added": ADDED_ROWS, "scored": SCORED}
    parts = Parts(given.out, about, key="seeds", model="minilm", rows_a_label=sizes)
    for kind, seed in product(given.sets, range(1, given.seeds + 1)):
        parts.measure(f"{kind} {seed}", measured, kind, seed, given.work)


if __name__ == "__main__":
    main()
