"""One finished run a task type, trained once for all workers of a session. What changes one takes a copy."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from finetune.data.source import source_of
from finetune.inference import predictor as predictors
from finetune.inference.predictor import Predictor
from finetune.runs.events import unwatched
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run
from finetune.training.run_options import RunOptions
from finetune.training.targets import load_target
from support.data import write_rte

FinishedRun = Callable[[str], Path]
LoadedRun = Callable[[str], Predictor]
REVIEWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(80)]
FAST = {"train.epochs": 6, "train.learning_rate": 2e-3, "train.batch_size": 8, "max_length": 16, "train.patience": 6}
ONCE = FAST | {"train.epochs": 1}
RTE = {"train.epochs": 2, "train.learning_rate": 2e-3}  # of the run on a GLUE task
ENDINGS = [(f"the cat {i}", "sat", "ran", 1 + i % 2) for i in range(30)]


def as_csv(*rows: tuple[object, ...]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


def as_json_lines(*rows: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, rows))


QUESTIONS = [
    {"question": "who sat?", "context": f"the cat sat {i}", "answer": "cat" if i % 3 else ""} for i in range(30)
]
NESTED = [
    {"text": f"the {colour} {animal} sat {i}",
     "spans": [{"start": 0, "end": 5 + len(colour + animal), "label": "THING"},
               {"start": 4, "end": 4 + len(colour), "label": "COLOUR"}]}
    for i in range(30)
    for colour, animal in [(("red", "blue")[i % 2], ("cat", "dog", "bird")[i % 3])]
]  # fmt: skip
ASKED = [
    {"text": f"{verb} the {animal} now", "slots": "O O B-PET O", "intent": intent}
    for animal in 7 * ["cat", "dog"] + ["cat"]
    for verb, intent in (("play", "music"), ("read", "book"))
]
NO_CLASS = ("overlapping", "intent")  # which no class of transformers loads
DATA: dict[str, tuple[str, str, dict[str, Any]]] = {  # task type: name of its file, content, settings
    "sentence": ("reviews.csv", as_csv(("review", "mark"), *REVIEWS), FAST),
    "regression": (
        "number.csv",
        as_csv(("a", "b", "score"), *((f"the cat {i} sat", f"the dog {i} ran", f"{i / 7:.2f}") for i in range(30))),
        ONCE,
    ),
    "multilabel": (
        "many.jsonl",
        as_json_lines(*({"text": f"the cat {i}", "labels": ["a", "b"][: i % 3]} for i in range(30))),
        ONCE,
    ),
    "tagging": ("tags.conll", "the O\ncat B-PET\nsat O\n\nthe O\ndog B-PET\n\n" * 10, ONCE),
    "overlapping": ("nested.jsonl", as_json_lines(*NESTED), ONCE),
    "intent": ("asked.jsonl", as_json_lines(*ASKED), ONCE),
    "span": ("span.jsonl", as_json_lines(*QUESTIONS), ONCE | {"max_length": 32}),
    "choice": ("choice.csv", as_csv(("context", "choice1", "choice2", "label"), *ENDINGS), ONCE),
    "choice by letter": (
        "letters.csv",
        as_csv(("question", "A", "B", "C", "answer"), *((a, b, c, "lay", "ABC"[n]) for a, b, c, n in ENDINGS)),
        ONCE,
    ),
}


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this session share; whoever writes in it takes a lock."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def finished_run(shared: Path, tiny_bert: Path) -> FinishedRun:
    """The folder of the run of a task type, or of `rte`, which must stay as it is; its data are three folders above."""

    def of(kind: str) -> Path:
        folder = shared / kind.replace(" ", "-")
        with FileLock(shared / f"{folder.name}.lock"):
            if not (found := list(folder.glob("results/*/*/record.json"))):
                folder.mkdir()
                with chdir("/"):  # so that its paths stay whole wherever the tests are started
                    found = [_train(kind, folder, tiny_bert) / "record.json"]
        return found[0].parent

    return of


@pytest.fixture
def copied_run(finished_run: FinishedRun, tmp_path: Path) -> FinishedRun:
    """The same in a `results` folder of the test's own, to be changed."""

    def of(kind: str) -> Path:
        run = finished_run(kind)
        shutil.copytree(run.parents[1], tmp_path / "results")
        return tmp_path / "results" / run.relative_to(run.parents[1])

    return of


@pytest.fixture(scope="session")
def reviews(finished_run: FinishedRun) -> Path:
    """A run on a CSV in which cats are good and dogs are bad."""
    return finished_run("sentence")


@pytest.fixture(scope="session")
def loaded_run(finished_run: FinishedRun) -> LoadedRun:
    """The model of the run of a task type, loaded once, which must stay as it is."""
    return cache(lambda kind: predictors.load_predictor(finished_run(kind)))


@pytest.fixture(scope="session")
def reviewer(loaded_run: LoadedRun) -> Predictor:
    return loaded_run("sentence")


def trained_run(folder: Path, data: Path, model: Path, **settings: Any) -> Path:
    """The folder of a new run on a user's own data."""
    recipe, _ = starting_recipe(str(data), {"model": str(model), **FAST, **settings})
    record = run(resolved_run(recipe), RunOptions(source=source_of(None), out=folder, device="cpu"), watch=unwatched)
    return folder / record.task / record.id


def _train(kind: str, folder: Path, encoder: Path) -> Path:
    if kind == "rte":
        recipe = load_target("glue-rte", {"model": str(encoder), **RTE}).recipe
        record = run(
            resolved_run(recipe),
            RunOptions(source=source_of(write_rte(folder / "data")), out=folder / "results"),
            watch=unwatched,
        )
        return folder / "results" / record.task / record.id
    name, content, settings = DATA[kind]
    (folder / name).write_text(content, encoding="utf-8")
    return trained_run(folder / "results", folder / name, encoder, **settings)
