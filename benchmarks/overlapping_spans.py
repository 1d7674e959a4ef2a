"""A tagger for each label against one for all, on flat entities and on nested ones: strict F1 over all spans.

python benchmarks/overlapping_spans.py --out results/benchmarks/overlapping_spans.json

The sentences are CoNLL-2003's. Nested spans are made from them: the first and the last name in a person of two words
or more, and in an organization or a miscellaneous name each word that is a location by itself elsewhere in the training
file. A finished draw is kept, so that the same command continues.
"""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.metrics.entities import chunks
from finetune.metrics.sums import part_counted, set_counts
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.task_types import TaggingRow
from finetune.task_types.registry import find
from finetune.task_types.tagging.task import entity_spans

DEV_ROWS = 300
OFTEN = 3  # times that a word must be a location by itself to be one inside of another name
FORMS = ("tagging", "overlapping-spans")
SETTINGS: dict[str, Any] = {"model": "minilm", "max_length": 128, "train.learning_rate": 1e-4, "train.epochs": 5}
RESAMPLES = 1_000
Span = tuple[int, int, str]


def flat(row: TaggingRow) -> list[Span]:
    """The entities of a sentence as spans of characters."""
    return [(row.places[a][0], row.places[b - 1][1], kind) for kind, a, b in chunks(row.gold or ())]


def nested(row: TaggingRow, locations: set[str]) -> list[Span]:
    """The entities, and the names inside them."""
    inner: list[Span] = []
    for kind, a, b in chunks(row.gold or ()):
        if b - a < 2:
            continue
        if kind == "PER":
            inner += [(*row.places[a], "FIRST_NAME"), (*row.places[b - 1], "LAST_NAME")]
        elif kind in ("ORG", "MISC"):
            inner += [(*row.places[word], "LOC") for word in range(a, b) if row.words[word] in locations]
    return [*flat(row), *inner]


def written(path: Path, rows: Sequence[TaggingRow], spans: Sequence[Sequence[Span]]) -> Path:
    """A file of texts with spans."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"id": str(number), "text": row.input, "spans": some})
        for number, (row, some) in enumerate(zip(rows, spans, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def files(name: str, size: int, seed: int, folder: Path) -> dict[str, Path]:
    """The training and dev file of a draw; a seed draws the training rows."""
    task = find("conll-2003")
    train, dev = (task.load(source_of(None), split).rows for split in ("train", "dev"))
    alone = Counter(row.words[a] for row in train for kind, a, b in chunks(row.gold) if kind == "LOC" and b - a == 1)
    locations = {word for word, count in alone.items() if count >= OFTEN}
    some = {
        f"train-{size}-{seed}": random.Random(f"{size}:{seed}").sample(list(train), size),
        "dev": random.Random(0).sample(list(dev), DEV_ROWS),
    }
    return {
        which.partition("-")[0]: written(
            folder / f"{name}-{which}.jsonl",
            rows,
            [flat(row) if name == "flat" else nested(row, locations) for row in rows],
        )
        for which, rows in some.items()
    }


def measured(given: dict[str, Path], form: str, seed: int, out: Path) -> dict[str, Any]:
    """The strict F1 of a run over all spans of dev, with its interval over the rows."""
    started = time.process_time()
    run = finetune.train(
        str(given["train"]), dev=str(given["dev"]), shape=form, seed=seed, out=out, progress=False, **SETTINGS
    )
    there = {row["id"]: {tuple(span) for span in row["spans"]} for row in map(json.loads, given["dev"].open())}
    lines = read_lines(RunFolder(run.folder), "dev")
    golds = [there[line["id"]] for line in lines]
    counts = set_counts(golds, [_predicted(line) for line in lines])
    counted = {part: part_counted(part, *counts) for part in ("f1", "precision", "recall")}
    resampled = counted["f1"].resampled(_weights(len(lines)))
    scores = {part: one.score for part, one in counted.items()}
    interval = np.quantile(resampled, [0.025, 0.975]).tolist()
    every, overlapping = sum(map(len, golds)), sum(map(_overlapping, golds))
    return {
        "run": run.id, "scores": scores, "interval": interval, "spans": every, "overlapping": overlapping,
        "cpu_seconds": time.process_time() - started,
    }  # fmt: skip


def _predicted(line: dict[str, Any]) -> set[Span]:
    if "words" in line:
        row = TaggingRow(id="", words=tuple(line["words"]), starts=tuple(line["starts"]), text=line["text"])
        return set(entity_spans(line["prediction"], row))
    return {(one["start"], one["end"], one["label"]) for one in line["prediction"]}


def _overlapping(spans: set[Span]) -> int:
    """How many spans have a character in common with another one."""
    return sum(any(a != b and a[0] < b[1] and b[0] < a[1] for b in spans) for a in spans)


def _weights(rows: int) -> np.ndarray:
    return np.random.default_rng(0).multinomial(rows, [1 / rows] * rows, size=RESAMPLES)


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("Spans that overlap: a tagger for each label, and one for all")
    parser.add_argument("--size", type=int, default=500, help="training rows")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", nargs="+", choices=("flat", "nested"), default=["flat", "nested"])
    parser.add_argument("--work", type=Path, default=Path("build/overlapping"), help="folder of the files and runs")
    options = parser.parse_args()
    draws = json.loads(options.out.read_text())["draws"] if options.out.is_file() else {}
    for seed, name, form in itertools.product(range(options.seeds), options.sets, FORMS):
        key = f"{name} {options.size} {seed} {form}"
        if key in draws:
            continue
        given = files(name, options.size, seed, options.work)
        draws[key] = measured(given, form, seed, options.work / "results")
        print(key, {part: round(score, 3) for part, score in draws[key]["scores"].items()}, flush=True)
        facts = {
            "about": "strict F1 over all spans of dev, by a tagger for all labels and by one for each",
            **machine.facts(), "settings": SETTINGS, "dev_rows": DEV_ROWS,
        }  # fmt: skip
        write_json(options.out, {**facts, "draws": draws})


if __name__ == "__main__":
    main()
