"""Students of minilm with and without its answers: its layers [1,3,5] and [2,5], on several tasks.

python benchmarks/distil.py --out results/benchmarks/distil.json --seeds 42 43 44

Each seed has its own teacher. Teachers and students train on the same rows with labels; `sst2 and ... texts` have other
sentences of the data set as rows without labels. A finished part is kept, so that the same command goes on.
"""

import argparse
import csv
import itertools
import json
import random
import time
from pathlib import Path
from typing import Any

import machine

import finetune
from finetune.data.source import source_of
from finetune.runs.folder import RunFolder
from finetune.task_types.prepare import load_splits
from finetune.task_types.registry import find

ROWS = 1_000  # with labels
TEXTS: dict[str, Any] = {"train.learning_rate": 1e-4, "train.batch_size": 16}
TAGS: dict[str, Any] = {
    "train.learning_rate": 2e-4, "max_length": 128, "options.context": "sentence", "train.batch_size": 16,
    "train.epochs": 3,
}  # fmt: skip
SETS: dict[str, tuple[str, dict[str, Any]]] = {  # the recipe, and its settings
    "sst2": ("glue-sst2", TEXTS),
    "sst2 and 3,000 texts": ("glue-sst2", TEXTS),
    "sst2, 2,000 rows, and 60,000 texts": ("glue-sst2", TEXTS | {"limit": 2_000}),
    "mrpc": ("glue-mrpc", TEXTS),
    "stsb": ("glue-stsb", TEXTS),
    "cola": ("glue-cola", TEXTS),
    "conll-2003": ("conll-2003", TAGS),
    "conll-2003, temperature 1": ("conll-2003", TAGS),
    "conll-2003, 10 epochs": ("conll-2003", TAGS),
}
OF_STUDENT: dict[str, dict[str, Any]] = {  # settings that its teacher does not have
    "conll-2003, temperature 1": {"distil.temperature": 1},
    "conll-2003, 10 epochs": {"train.epochs": 10},
}
TEXT_ROWS = {"sst2 and 3,000 texts": 3_000, "sst2, 2,000 rows, and 60,000 texts": 60_000}
STUDENTS = {"1,3,5": [1, 3, 5], "2,5": [2, 5]}
STUDENT_RATE = 2e-4
MODELS = ("teacher", "student", "student without a teacher")


def texts(path: Path, count: int, labelled_rows: int) -> Path:
    """A file of sentences of SST-2, none of which is among the rows with labels."""
    if not path.is_file():
        task, source = find("sst2"), source_of(None)
        labelled = {row.text for row in load_splits(task, source, limit=labelled_rows)["train"].rows}
        others = sorted({row.text for row in task.load(source, "train").rows} - labelled)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([text] for text in random.Random(0).sample(others, count))])
    return path


def trained(recipe: str, out: Path, **settings: Any) -> Any:
    """The record of a run, which is trained unless it is finished."""
    return finetune.run(recipe, model="minilm", out=out, progress=False, **{"limit": ROWS, **settings}).records[0]


def measured(name: str, seed: int, student: str, work: Path) -> dict[str, Any]:
    """The scores and weights of a teacher, its student, and the same student without a teacher."""
    started, out = time.process_time(), work / "results"
    recipe, settings = SETS[name]
    teacher = trained(recipe, out, seed=seed, **settings)
    own = settings | {"train.learning_rate": max(STUDENT_RATE, settings["train.learning_rate"])}
    own |= OF_STUDENT.get(name, {})
    taught = {"distil.teacher": str(RunFolder.of(out, teacher.task, teacher.id).path), "distil.weak": True}
    text: dict[str, Any] = {}
    if count := TEXT_ROWS.get(name):
        text["distil.text"] = str(texts(work / f"sst2-{count}.csv", count, settings.get("limit", ROWS)))
    record = trained(recipe, out, seed=seed, keep_layers=STUDENTS[student], **own, **taught, **text)
    plain = trained(recipe, out, seed=seed, keep_layers=STUDENTS[student], **own)
    models = dict(zip(MODELS, (teacher, record, plain), strict=True))
    rows = {
        which: {"runs": [one.id], "parameters": one.parameters["all"], "score": one.score}
        for which, one in models.items()
    }
    best = teacher.best_baseline(teacher.first_split, teacher.headline)
    return {
        "metric": record.headline, "rows": record.rows, "models": rows, "baseline": best, "device": record.device,
        "precision": record.precision, "cpu_seconds": time.process_time() - started,
    }  # fmt: skip


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = argparse.ArgumentParser(description="Students with and without a teacher")
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--students", nargs="+", choices=list(STUDENTS), default=list(STUDENTS))
    parser.add_argument("--work", type=Path, default=Path("build/distil"), help="folder of the runs")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    before = json.loads(options.out.read_text()) if options.out and options.out.is_file() else {"parts": {}}
    for seed, name, student in itertools.product(options.seeds, options.sets, options.students):
        key = f"{name}: {student}: {seed}"
        if key in before["parts"]:
            continue
        found = measured(name, seed, student, options.work)
        shown = {each: round(100 * facts["score"], 1) for each, facts in found["models"].items()}
        print(key, shown, round(found["cpu_seconds"]), flush=True)
        before["parts"][key] = found
        if options.out is not None:
            about = "dev scores of minilm as teacher, and of its layers as students with and without it"
            before["parts"] |= json.loads(options.out.read_text())["parts"] if options.out.is_file() else {}
            facts = {"about": about, **machine.facts(), "labelled_rows": ROWS}
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps({**facts, "parts": before["parts"]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
