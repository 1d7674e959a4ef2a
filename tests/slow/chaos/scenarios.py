"""The commands that are disturbed, a few seconds each, of every task type and way to train; and what they leave."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.corpora import documents
from support.runs import DATA, REVIEWS, as_csv

from finetune.data.checksums import verify
from finetune.errors import UserError
from finetune.runs.folder import read_predictions
from finetune.runs.record_files import load_record

TINY = {
    "model": "encoder", "train.epochs": "2", "train.batch_size": "8", "train.learning_rate": "1e-3", "max_length": "32",
    "train.precision": "fp32",
}  # fmt: skip
VARYING = {  # facts of a record that differ from run to run, and what is compared by itself
    *("finished", "seconds", "examples_per_second", "peak_memory_bytes", "cost", "git_commit", "files", "checksum"),
    *("data_origin", "baselines"),
}
LITTER = ("checkpoints", "new", ".holder", "*.tmp", ".tmp*", "*.part.jsonl", "*.pt")
REVIEW, TAGS = DATA["sentence"][0], DATA["tagging"][0]


class Failed(Exception):
    """A promise was not kept; `lost` says in a word or two what the user lost."""

    def __init__(self, lost: str, detail: str) -> None:
        self.lost, self.detail = lost, detail
        super().__init__(f"{lost}: {detail}")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A command, in a folder with these files where `before` was run. It trains `runs` runs, or writes `output`."""

    command: tuple[str, ...]
    files: Mapping[str, str]
    before: tuple[tuple[str, ...], ...] = ()
    output: str = ""
    runs: int = 1

    def leaves(self, place: Path) -> dict[str, Any]:
        """Everything that must be equal, to the last bit: the output file, or all finished runs.

        Raises Failed where a file of a run is not as its record says, and for what a finished command must not leave.
        """
        if left := sorted(str(file.relative_to(place)) for pattern in LITTER for file in place.rglob(pattern)):
            raise Failed("litter", ", ".join(left[:5]))
        if self.output:
            file = place / self.output
            return {self.output: file.read_bytes() if file.is_file() else None}
        return {str(file.parent.relative_to(place)): _run(file.parent) for file in whole_records(place)}


def training(target: str, *more: str) -> tuple[str, ...]:
    """`finetune run` of a tiny encoder with these settings and options; `name=` leaves one out."""
    settings = TINY | dict(word.split("=", 1) for word in more if not word.startswith("-"))
    options = [word for word in more if word.startswith("-")]
    typed = [f"{key}={value}" for key, value in settings.items() if value]
    return ("run", target, *typed, "--device", "cpu", "--checkpoint-updates", "3", *options)


def _run_of(kind: str, *more: str, before: tuple[tuple[str, ...], ...] = (), runs: int = 1) -> Scenario:
    name, content, _ = DATA[kind]
    return Scenario(command=training(name, *more), files={name: content}, before=before, runs=runs)


def _output(*command: str, files: Mapping[str, str], before: str = "", output: str = "") -> Scenario:
    """A command that writes its last argument, perhaps after training."""
    first = (training(before),) if before else ()
    return Scenario(command=command, files=files, before=first, output=output or command[-1])


FROZEN = ("frozen=true", "train.epochs=3")
NEW_ROWS = as_csv(("review", "n"), *((f"{text} {'red ' * (i % 9)}", i) for i, (text, _) in enumerate(REVIEWS * 4)))
DIRTY = as_csv(("review", "mark"), *REVIEWS, *REVIEWS[:9], ("  a cat &amp; a dog ", "good"), ("", "bad"))
CORPUS = "\n\n".join(document.text for document in documents(300, lines=(2, 3))) + "\n"
RTE = "\n".join(
    ["index\tsentence1\tsentence2\tlabel"]
    + [f"{i}\tthe {'cat' if i % 2 else 'dog'} sat\tit\t{'' if i % 2 else 'not_'}entailment" for i in range(48)]
)
GLUE = {"RTE/train.tsv": RTE, "RTE/dev.tsv": RTE}
REVIEWED = {REVIEW: DATA["sentence"][1]}
SCENARIOS = {
    **{kind: _run_of(kind) for kind in ("sentence", "regression", "multilabel", "tagging", "span", "choice")},
    "frozen, cold cache": _run_of("sentence", *FROZEN),
    "frozen, warm cache": _run_of("tagging", *FROZEN, before=(training(TAGS, *FROZEN, "seed=7"),)),
    "logistic solver": _run_of("sentence", "frozen=true", "train.solver=logistic", "layers=[2]"),
    "accumulation": _run_of("sentence", "train.accumulation=4"),
    "best epoch": _run_of("sentence", "train.epochs=4", "train.select=best", "train.patience=1"),
    "two seeds": _run_of("regression", "train.epochs=1", "--seeds=2", runs=2),
    "--force": _run_of("sentence", "train.epochs=1", "--force", before=(training(REVIEW, "train.epochs=1"),)),
    "GLUE task": Scenario(command=training("glue-rte"), files=GLUE),
    "pre-training": Scenario(
        command=training("corpus.txt", "train.epochs=", "train.updates=20", "shape=text", "objective=mlm-nsp"),
        files={"corpus.txt": CORPUS},
    ),
    "predict": _output("predict", REVIEW, "new.csv", "-o", "out.csv",
                       files=REVIEWED | {"new.csv": NEW_ROWS}, before=REVIEW),
    "tokenizer": _output("tokenizer", "corpus.txt", "--size", "120", "-o", "vocabulary", files={"corpus.txt": CORPUS},
                         output="vocabulary/tokenizer.json"),
    "check --fix": _output("check", "dirty.csv", "--fix", "fixed.csv", files={"dirty.csv": DIRTY}),
    "report": _output("report", REVIEW, "-o", "page.html", files=REVIEWED, before=REVIEW),
    "table": _output("table", "glue", "-o", "table.csv", files=GLUE, before="glue-rte"),
}  # fmt: skip


def whole_records(place: Path) -> list[Path]:
    """The record of every finished run. Raises Failed where a file of one is not as its record says."""
    files = sorted(place.glob("results/*/*/record.json"))
    for file in files:
        try:
            verify(file.parent, load_record(file).files, remedy="")
        except UserError as error:
            raise Failed("a record", str(error)) from error
    return files


def differences(expected: Any, actual: Any, where: str = "") -> Iterator[str]:
    """Where two outcomes differ."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in {**expected, **actual}:
            yield from differences(expected.get(key, "nothing"), actual.get(key, "nothing"), f"{where}/{key}")
    elif expected != actual:
        yield f"{where}: {str(expected)[:200]} became {str(actual)[:200]}"


def _run(folder: Path) -> dict[str, Any]:
    """A run's files; scikit-learn's baselines differ in their last digits between processes, and are left out."""
    record = json.loads((folder / "record.json").read_text())
    return {
        "files": sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.name[0] != "."),
        "model": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (folder / "model").iterdir()},
        "predictions": {
            file.name: [
                {name: repr(value) for name, value in line.items() if not name.startswith("baseline:")}
                for line in read_predictions(file)
            ]
            for file in folder.glob("predictions-*.parquet")
        },
        "losses": _losses(folder / "events.jsonl"),
        "record": {key: json.dumps(value) for key, value in record.items() if key not in VARYING},
        "recipe": (folder / "recipe.toml").read_text(),
    }


def _losses(events: Path) -> dict[str, float]:
    """The loss of each update. Raises Failed where one that was trained again after a kill has another."""
    losses = dict[str, float]()
    for event in map(json.loads, events.read_text().splitlines()):
        if event["event"] == "updates":
            for update, loss in enumerate(event["losses"], start=event["update"] - len(event["losses"]) + 1):
                if losses.setdefault(str(update), loss) != loss:
                    raise Failed("another number", f"update {update} has loss {losses[str(update)]}, then {loss}")
    return losses
