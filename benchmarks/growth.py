"""How time and memory grow from a thousand rows to a million: run, check, predict, label errors and search.

python benchmarks/growth.py --out results/benchmarks/growth.json

Files have made-up texts of 14 to 26 words with two labels, the encoder is tiny and random (2 layers of width 32), so
that what is measured is all but its products. Each command is a process of its own with an empty cache: `run` trains
one epoch, `predict` takes a model of 1,000 rows, `label errors` trains five folds for two epochs, `search` two settings
for one. Seconds are CPU seconds, which other work on the machine changes little. A size that would take more of them
than `--longest` by what the one before took is left out; `--out` adds to what was measured of others.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
from dated import write_json
from memory_by_rows import ROWS, rows, write_encoder

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 600.0  # CPU seconds of a command
MODEL_ROWS = 1_000
TRAIN = ("train.batch_size=128", "train.epochs=1")
SPACE = "train.learning_rate = [1e-4, 1e-3]\n"
LABEL_ERRORS = """
import sys
import finetune
found = finetune.label_errors(sys.argv[1], model=sys.argv[2], **{"train.batch_size": 128})
assert len(found) == int(sys.argv[3]), len(found)
"""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one command of one size works: its folder, the file of rows, the encoder and the model that predicts."""

    folder: Path
    file: Path
    rows: int
    encoder: Path
    model: Path


def run_arguments(place: Place) -> list[str]:
    """One epoch."""
    return ["-m", "finetune", "run", str(place.file), f"model={place.encoder}", *TRAIN, "--out", str(place.folder)]


def check_arguments(place: Place) -> list[str]:
    """The file against the encoder."""
    return ["-m", "finetune", "check", str(place.file), f"model={place.encoder}", "--json"]


def predict_arguments(place: Place) -> list[str]:
    """All rows into a file."""
    return ["-m", "finetune", "predict", str(place.model), str(place.file), "-o", str(place.folder / "predicted.csv")]


def label_errors_arguments(place: Place) -> list[str]:
    """Each row, judged by a model that did not learn it."""
    return ["-c", LABEL_ERRORS, str(place.file), str(place.encoder), str(place.rows)]


def search_arguments(place: Place) -> list[str]:
    """Two settings, an epoch each."""
    space = place.folder / "space.toml"
    space.write_text(SPACE)
    given = [str(place.file), str(space), f"model={place.encoder}", *TRAIN, "--trials", "2", "--seeds", "1"]
    return ["-m", "finetune", "search", *given, "--out", str(place.folder), "-o", str(place.folder / "best.toml")]


COMMANDS = {
    "check": check_arguments,
    "predict": predict_arguments,
    "run": run_arguments,
    "search": search_arguments,
    "label errors": label_errors_arguments,
}


def measured(arguments: list[str], folder: Path) -> dict[str, float]:
    """Seconds by the clock and of the CPU, and the peak of memory, of a command from start to exit."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "FINETUNE_CACHE": str(folder / "cache"),
    }  # fmt: skip
    began, log = time.perf_counter(), folder / "log.txt"
    with log.open("w") as opened:
        process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=opened, stderr=opened)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}: {log.read_text()[-2000:]}")
    return {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss / 1e3,
    }


def fitting(command: str, count: int, found: list[dict[str, Any]], longest: float) -> bool:
    """Whether a command is done within the limit if its time grows as its rows do."""
    before = [each for each in found if each["command"] == command]
    return not before or before[-1]["cpu_seconds"] * count / before[-1]["rows"] <= longest


def write_rows(folder: Path, count: int) -> Path:
    """A CSV file of made-up rows."""
    file = folder / f"rows-{count}.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([("text", "label"), *rows(count)])
    return file


def trained_model(place: Place) -> None:
    """The model that predicts."""
    place.folder.mkdir()
    measured(run_arguments(place), place.folder)
    (made,) = place.folder.glob("*/*/model")
    made.rename(place.model)


def main() -> None:
    """Measures, prints, and writes after each command."""
    parser = argparse.ArgumentParser(description="Time and memory by rows")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="rows of the files, the fewest first")
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS), choices=COMMANDS, help="what to measure")
    parser.add_argument("--longest", type=float, default=LONGEST, help="CPU seconds that a command may take")
    parser.add_argument("--out", type=Path, help="JSON file to write, or to add to")
    options = parser.parse_args()
    facts, found = machine.facts(), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as name:
        folder, encoder, model = Path(name), Path(name) / "encoder", Path(name) / "model"
        write_encoder(encoder)
        file = write_rows(folder, MODEL_ROWS)
        trained_model(Place(folder=folder / "trained", file=file, rows=MODEL_ROWS, encoder=encoder, model=model))
        for count in options.rows:
            file = write_rows(folder, count)
            for command in options.commands:
                if not fitting(command, count, found, options.longest):
                    continue
                with tempfile.TemporaryDirectory(dir=folder) as work:
                    place = Place(folder=Path(work), file=file, rows=count, encoder=encoder, model=model)
                    line = {"command": command, "rows": count, **measured(COMMANDS[command](place), place.folder)}
                found.append(line)
                print(json.dumps(line), flush=True)
                write(options.out, {**facts, "longest_cpu_seconds": options.longest, "measured": found})
            file.unlink()


def write(out: Path | None, measured: dict[str, Any]) -> None:
    """Writes what was measured so far, if a file was named, next to what it has of other commands and sizes."""
    if out is None:
        return
    before = json.loads(out.read_text())["measured"] if out.is_file() else []
    every = {(each["command"], each["rows"]): each for each in (*before, *measured["measured"])}
    facts = {"about": "time and memory by rows", **measured, "measured": list(every.values())}
    write_json(out, facts)


if __name__ == "__main__":
    main()
