"""A label is added to a trained model: from zero on all rows, the run's encoder, its head too, also on all rows.

python benchmarks/keep_labels.py --work build/keep-labels --out results/benchmarks/keep_labels.json

Sentences of CoNLL-2003 with one type of entity: three types are the old labels, MISC is added. Nothing is chosen on the
rows that are scored: the last epoch is kept. A finished seed is kept, so that the same command goes on.
"""

import csv
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.runs.record import RunRecord
from finetune.task_types.registry import find

ADDED = "MISC"
TYPES = ("LOC", "ORG", "PER", ADDED)
OLD, NEW, ADDED_ROWS = 60, 10, 30  # training rows a label: before, new ones of old labels, of the added one
SCORED = 50  # rows a label
TRAINING: dict[str, Any] = {"train.epochs": 3, "train.select": "last", "train.patience": None}
AGAIN: dict[str, tuple[str, dict[str, Any]]] = {  # the rows, and settings
    "its encoder, a new head": ("new", {}),
    "keep_labels": ("new", {"keep_labels": True}),
    "keep_labels, all rows": ("all", {"keep_labels": True}),
}
SETS = ("labels", "tags")

Rows = list[tuple[Any, str]]  # a row, and its type of entity


def by_type(split: str) -> dict[str, list[Any]]:
    """The sentences of a split with entities of a single type, by that type."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in find("conll-2003").load(source_of(None), split).rows:
        types = {tag[2:] for tag in row.gold if tag != "O"}
        if len(types) == 1 and len(row.words) > 3:
            found[types.pop()].append(row)
    return found


def write(path: Path, kind: str, rows: Rows) -> Path:
    """A CSV of texts and labels, or a file of words and tags."""
    path = path.with_suffix(".csv" if kind == "labels" else ".conll")
    with path.open("w", newline="", encoding="utf-8") as file:
        if kind == "labels":
            lines = [(" ".join(row.words), name) for row, name in rows]
            csv.writer(file).writerows([("text", "label"), *lines])
        else:
            pairs = (zip(row.words, row.gold, strict=True) for row, _ in rows)
            file.writelines("".join(f"{word}\t{tag}\n" for word, tag in each) + "\n" for each in pairs)
    return path


def files(kind: str, seed: int, folder: Path) -> dict[str, Path]:
    """The files of a seed: old, new and all training rows; rows to score of all labels, and of the old ones."""
    source = random.Random(seed)
    train, dev = by_type("train"), by_type("dev")
    drawn = {name: source.sample(train[name], OLD + ADDED_ROWS) for name in TYPES}
    old = [(row, name) for name in TYPES[:-1] for row in drawn[name][:OLD]]
    new = [(row, name) for name in TYPES[:-1] for row in drawn[name][OLD : OLD + NEW]]
    new += [(row, ADDED) for row in drawn[ADDED][:ADDED_ROWS]]
    scored = [(row, name) for name in TYPES for row in random.Random(0).sample(dev[name], SCORED)]
    parts = {
        "old": old,
        "new": new,
        "all": [*old, *new],
        "new-dev": scored,
        "old-dev": [pair for pair in scored if pair[1] != ADDED],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("old", "new", "all"):
        source.shuffle(parts[name])
    return {name: write(folder / f"{kind}-{seed}-{name}", kind, rows) for name, rows in parts.items()}


def trained(path: Path, given: dict[str, Path], seed: int, out: Path, **settings: Any) -> dict[str, Any]:
    """The scores of a run on both files of rows, by its record."""
    scored: dict[str, Any] = {"dev": str(given["new-dev"]), "test": str(given["old-dev"])}
    run = finetune.run(str(path), out=out, progress=False, seed=seed, **scored, **TRAINING, **settings)
    record = run.records[0]
    name = metric_of(record)
    return {
        "metric": name, "run": record.id, "rows": record.rows["train"], "new dev": record.scores["dev"][name],
        "added label": record.scores["dev"].get(f"{ADDED}/f1"), "old dev": record.scores["test"][name],
    }  # fmt: skip


def metric_of(record: RunRecord) -> str:
    """Accuracy, or F1 of entities: in macro F1 one prediction of the added label counts as a whole class of old dev."""
    return "accuracy" if "accuracy" in record.scores["dev"] else record.headline


def measured(kind: str, seed: int, work: Path) -> dict[str, Any]:
    """The scores of each way, on the same rows."""
    given, out = files(kind, seed, work), work / "results"
    first = finetune.run(str(given["old"]), dev=str(given["old-dev"]), out=out, progress=False, seed=seed, **TRAINING)
    record = first.records[0]
    found: dict[str, Any] = {
        "the old model": {"rows": record.rows["train"], "old dev": record.scores["dev"][metric_of(record)]},
        "from zero, all rows": trained(given["all"], given, seed, out),
    }
    for name, (rows, settings) in AGAIN.items():
        found[name] = trained(given[rows], given, seed, out, model=str(first.folder), **settings)
    return found


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("A label is added to a trained model", required=False)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--work", type=Path, default=Path("build/keep-labels"), help="folder of the files and runs")
    options = parser.parse_args()
    done = json.loads(options.out.read_text())["seeds"] if options.out and options.out.is_file() else {}
    for kind in options.sets:
        for seed in range(1, options.seeds + 1):
            if (key := f"{kind} {seed}") in done:
                continue
            done[key] = measured(kind, seed, options.work)
            print(key, json.dumps(done[key], indent=1), flush=True)
            about = "a label is added to a trained model: scores on rows of all labels, and of the old ones"
            sizes = {"old": OLD, "new": NEW, "added": ADDED_ROWS, "scored": SCORED}
            facts = {"about": about, **machine.facts(), "model": "minilm", "rows_a_label": sizes, "seeds": done}
            write_json(options.out, facts)


if __name__ == "__main__":
    main()
