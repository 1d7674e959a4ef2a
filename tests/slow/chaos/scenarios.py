"""The commands that are disturbed, in a few seconds each: every task type, and every way to train or write."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from slow.chaos.outcome import Outcome, outcome
from support.corpora import documents
from support.runs import DATA, REVIEWS, as_csv

TINY = {
    "model": "encoder", "train.epochs": "2", "train.batch_size": "8", "train.learning_rate": "1e-3", "max_length": "32",
    "train.precision": "fp32",
}  # fmt: skip
OFTEN = ("--device", "cpu", "--checkpoint-updates", "3")
FROZEN = ("frozen=true", "train.epochs=3")
REVIEW, TAGS = DATA["sentence"][0], DATA["tagging"][0]


def results(place: Path) -> Outcome:
    """Every run in the results folder."""
    return outcome(place / "results")


def written(name: str) -> Callable[[Path], Outcome]:
    """The content of a file that a command writes; None where it is not there."""
    return lambda place: {name: (place / name).read_bytes() if (place / name).is_file() else None}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A command to disturb, in a folder with these files where `before` was run; and what it leaves."""

    name: str
    command: tuple[str, ...]
    files: Mapping[str, str]
    before: tuple[tuple[str, ...], ...] = ()
    leaves: Callable[[Path], Outcome] = results
    runs: int = 1  # that the command trains, each of which may fail with a line


def training(target: str, *more: str) -> tuple[str, ...]:
    """`finetune run` of a tiny encoder with these settings and options; `name=` leaves one out."""
    settings = TINY | dict(one.split("=", 1) for one in more if not one.startswith("-"))
    options = [one for one in more if one.startswith("-")]
    return ("run", target, *(f"{key}={value}" for key, value in settings.items() if value), *OFTEN, *options)


def searching(target: str, *more: str) -> tuple[str, ...]:
    """`finetune search` of a tiny encoder with these settings and options, without the recipe's learning rate."""
    settings = {key: value for key, value in TINY.items() if key not in ("train.learning_rate", "train.epochs")}
    return ("search", target, *(f"{key}={value}" for key, value in settings.items()), "--device", "cpu", *more)


def _own(kind: str) -> dict[str, str]:
    name, content, _ = DATA[kind]
    return {name: content}


def _run(name: str, kind: str, *more: str, before: tuple[tuple[str, ...], ...] = (), runs: int = 1) -> Scenario:
    """Training on a file of a kind."""
    return Scenario(name=name, command=training(DATA[kind][0], *more), files=_own(kind), before=before, runs=runs)


def _output(name: str, *command: str, files: Mapping[str, str], before: str = "") -> Scenario:
    """A command that writes its last argument, perhaps after training on a target."""
    first = (training(before),) if before else ()
    return Scenario(name=name, command=command, files=files, before=first, leaves=written(command[-1]))


GRID = 'task = "reviews.csv"\n[grid]\n"train.learning_rate" = [1e-3, 1e-7]\n'
NEW_ROWS = as_csv(("review", "n"), *((f"{text} {'red ' * (i % 9)}", i) for i, (text, _) in enumerate(REVIEWS * 4)))
NEW_WORDS = "\n".join(json.dumps({"words": ["the", "cat", *["sat"] * (i % 7)]}) for i in range(200)) + "\n"
DIRTY = as_csv(("review", "mark"), *REVIEWS, *REVIEWS[:9], ("  a cat &amp; a dog ", "good"), ("", "bad"))
RTE_ROWS = "\n".join(
    ["index\tsentence1\tsentence2\tlabel"]
    + [f"{i}\tthe {'cat' if i % 2 else 'dog'} sat\tit\t{'' if i % 2 else 'not_'}entailment" for i in range(48)]
)
PRETRAINING = ("shape=text", "objective=mlm-nsp", "mask=words")
CORPUS = "\n\n".join(document.text for document in documents(300, lines=(2, 3))) + "\n"
GLUE = {"RTE/train.tsv": RTE_ROWS, "RTE/dev.tsv": RTE_ROWS}

TRAINING = (
    *(_run(kind, kind) for kind in ("sentence", "regression", "multilabel", "tagging", "span", "choice")),
    _run("frozen, cold cache", "sentence", *FROZEN),
    _run("frozen, warm cache", "tagging", *FROZEN, before=(training(TAGS, *FROZEN, "seed=7"),)),
    _run("logistic solver", "sentence", "frozen=true", "train.solver=logistic", "layers=[2]"),
    _run("accumulation", "sentence", "train.accumulation=4"),
    _run("bf16", "sentence", "train.precision=bf16"),
    _run("best epoch, patience", "sentence", "train.epochs=4", "train.select=best", "train.patience=1"),
    _run("two seeds", "regression", "train.epochs=1", "--seeds=2", runs=2),
    _run("--force", "sentence", "train.epochs=1", "--force", before=(training(REVIEW, "train.epochs=1"),)),
    Scenario(
        name="pre-training",
        command=training("corpus.txt", "train.epochs=", "train.updates=20", *PRETRAINING),
        files={"corpus.txt": CORPUS},
    ),
    Scenario(name="GLUE task", command=training("glue-rte"), files=GLUE),
    Scenario(
        name="search",
        command=searching("grid.toml", "train.epochs=4", "--seeds", "2", "--force"),
        files={**_own("sentence"), "grid.toml": GRID},
        runs=4,
    ),
)
WRITING = (
    _output("predict, CSV", "predict", REVIEW, "new.csv", "-o", "out.csv",
            files={**_own("sentence"), "new.csv": NEW_ROWS}, before=REVIEW),
    _output("predict, JSON Lines", "predict", TAGS, "new.jsonl", "text=words", "-o", "out.jsonl",
            files={**_own("tagging"), "new.jsonl": NEW_WORDS}, before=TAGS),
    Scenario(
        name="tokenizer",
        command=("tokenizer", "corpus.txt", "-o", "vocabulary", "--size", "120"),
        files={"corpus.txt": CORPUS},
        leaves=written("vocabulary/tokenizer.json"),
    ),
    _output("check --fix", "check", "dirty.csv", "--fix", "fixed.csv", files={"dirty.csv": DIRTY}),
    _output("report", "report", REVIEW, "-o", "page.html", files=_own("sentence"), before=REVIEW),
    _output("table -o", "table", "glue", "-o", "table.csv", before="glue-rte",
            files=GLUE),
)  # fmt: skip
SCENARIOS = MappingProxyType({scenario.name: scenario for scenario in (*TRAINING, *WRITING)})
