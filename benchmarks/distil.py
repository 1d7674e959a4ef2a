"""Students of minilm with and without its answers: its layers [1,3,5] and [2,5], on several tasks.

python benchmarks/distil.py --out results/benchmarks/distil.json --seeds 42 43 44

Each seed has its own teacher. Teachers and students train on the same rows with labels; `sst2 and ... texts` have other
sentences of the data set as rows without labels. A finished part is kept, so that the same command goes on.
"""

import random
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from machine import Parts, options
from rows import rows_of, write

import finetune
from finetune.data.source import source_of
from finetune.task_types.prepare import load_splits
from finetune.task_types.registry import find

ROWS = 1_000  # with labels
RATE = 2e-4  # of a student
TEXTS: dict[str, Any] = {"limit": ROWS, "train.learning_rate": 1e-4, "train.batch_size": 16}
TAGS: dict[str, Any] = {
    "limit": ROWS, "train.learning_rate": RATE, "max_length": 128, "options.context": "sentence",
    "train.batch_size": 16, "train.epochs": 3,
}  # fmt: skip
# The recipe, its settings, those that a student has alone, and the number of texts without labels.
SETS: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "sst2": ("glue-sst2", TEXTS, {}, 0),
    "sst2 and 3,000 texts": ("glue-sst2", TEXTS, {}, 3_000),
    "sst2, 2,000 rows, and 60,000 texts": ("glue-sst2", TEXTS | {"limit": 2_000}, {}, 60_000),
    "mrpc": ("glue-mrpc", TEXTS, {}, 0),
    "stsb": ("glue-stsb", TEXTS, {}, 0),
    "cola": ("glue-cola", TEXTS, {}, 0),
    "conll-2003": ("conll-2003", TAGS, {}, 0),
    "conll-2003, temperature 1": ("conll-2003", TAGS, {"distil.temperature": 1}, 0),
    "conll-2003, 10 epochs": ("conll-2003", TAGS, {"train.epochs": 10}, 0),
}
STUDENTS = {"1,3,5": [1, 3, 5], "2,5": [2, 5]}


def texts(path: Path, count: int, limit: int) -> str:
    """A file of sentences of SST-2, none of which is among the rows with labels."""
    labelled = {row.text for row in load_splits(find("sst2"), source_of(None), limit=limit)["train"].rows}
    others = sorted({row.text for row in rows_of("sst2")} - labelled)
    return str(write(path, ("text",), [(text,) for text in random.Random(0).sample(others, count)]))


def measured(name: str, seed: int, student: str, work: Path) -> dict[str, Any]:
    """The scores and weights of a teacher, its student, and the same student without a teacher."""
    started, (recipe, settings, own, count) = time.process_time(), SETS[name]
    train = partial(finetune.train, recipe, model="minilm", out=work / "results", progress=False, seed=seed)
    teacher = train(**settings)
    own = settings | {"keep_layers": STUDENTS[student], "train.learning_rate": RATE} | own
    taught: dict[str, Any] = {"distil.teacher": str(teacher.folder), "distil.weak": True}
    if count:
        taught["distil.text"] = texts(work / f"sst2-{count}", count, settings["limit"])
    runs = {"teacher": teacher, "student": train(**own, **taught), "student without a teacher": train(**own)}
    records = {model: run.records[0] for model, run in runs.items()}
    record, first = records["student"], records["teacher"]
    return {
        "metric": record.headline,
        "rows": record.rows,
        "models": {
            model: {"runs": [found.id], "parameters": found.parameters["all"], "score": found.score}
            for model, found in records.items()
        },
        "baseline": first.best_baseline(first.first_split, first.headline),
        "device": record.device,
        "precision": record.precision,
        "cpu_seconds": time.process_time() - started,
    }


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, seeds=(42, 43, 44), sets=tuple(SETS), students=tuple(STUDENTS), work=Path("build/distil"))
    about = "dev scores of minilm as teacher, and of its layers as students with and without it"
    parts = Parts(given.out, about, key="parts", labelled_rows=ROWS)
    for seed, name, student in product(given.seeds, given.sets, given.students):
        parts.measure(f"{name}: {student}: {seed}", measured, name, seed, student, given.work)


if __name__ == "__main__":
    main()
