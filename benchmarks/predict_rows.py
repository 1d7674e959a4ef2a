"""`finetune predict` of a folder of Parquet: rows/s by number of workers, memory by rows, and kills at random moments.

python benchmarks/predict_rows.py --out results/benchmarks/many_rows.json

Texts are made up, of 14 to 26 words; the encoder is tiny and random, so that the time is mostly spent outside it. A
file has 500,000 rows in row groups of 100,000. Numbers of workers are compared on the second largest number of rows;
the others are predicted with the fastest of them. Memory is that of the largest process. `overlap` compares rows/s of
one process, with the next rows read and tokenized in a thread while the model predicts (the default on a GPU), and
without.
"""

import argparse
import contextlib
import csv
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
import memory_by_rows as made_up
import pyarrow as pa
import pyarrow.parquet as pq

FILE_ROWS, GROUP_ROWS = 500_000, 100_000
DISTINCT = 100_000  # texts, which are repeated with their number
ROUNDS = 3  # of overlap and none, in turns
OVERLAP = "from finetune.inference.predictor import Predictor; Predictor.overlaps = {}; "
START = "import sys; from finetune.cli.app import main; main()"


def write_rows(folder: Path, rows: int) -> Path:
    """A folder of Parquet files with this number of rows."""
    folder.mkdir()
    texts = [text for text, _ in made_up.rows(min(DISTINCT, rows))]
    numbers = iter(range(rows))
    for file in itertools.count():
        if not (taken := list(itertools.islice(numbers, FILE_ROWS))):
            return folder
        cells = {"n": taken, "text": [f"{texts[n % len(texts)]} {n}" for n in taken]}
        pq.write_table(pa.table(cells), folder / f"rows-{file:03}.parquet", row_group_size=GROUP_ROWS)
    raise AssertionError


def train(folder: Path) -> None:
    """Trains the tiny encoder for an epoch on 2,000 rows; its run is in the folder."""
    made_up.write_encoder(folder / "encoder")
    with (folder / "train.csv").open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([("text", "label"), *made_up.rows(2_000)])
    command = ["run", "train.csv", "model=encoder", "train.epochs=1", "--quiet"]
    subprocess.run([sys.executable, "-m", "finetune", *command], cwd=folder, env=environment(), check=True)


def environment() -> dict[str, str]:
    """The environment of the command, from this checkout and without the Hub."""
    return os.environ | {"PYTHONPATH": str(made_up.ROOT), "HF_HUB_OFFLINE": "1"}


def started(folder: Path, rows: Path, out: Path, *, workers: int = 1, before: str = "") -> "subprocess.Popen[bytes]":
    """Starts the command, in a process group of its own; `before` is Python that runs first."""
    arguments = ["predict", "train.csv", str(rows), "-o", str(out), "--workers", str(workers), "--json", "--quiet"]
    command = [sys.executable, "-c", before + START, *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, start_new_session=True)


def measured(folder: Path, rows: Path, out: Path, *, workers: int = 1, before: str = "") -> dict[str, Any]:
    """Rows, seconds of the whole command, rows/s without its start, and the memory of its largest process."""
    begun = time.perf_counter()
    process = started(folder, rows, out, workers=workers, before=before)
    peak = 0
    while _ended(process) is None:
        peak = max(peak, *map(_memory, [process.pid, *_children(process.pid)]))
        time.sleep(0.2)
    printed, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"the prediction ended with {process.returncode}")
    facts = json.loads(printed)
    return {
        "rows": facts["rows"],
        "workers": workers,
        "seconds": time.perf_counter() - begun,
        "rows_per_second": facts["rows_per_second"],
        "peak_memory_megabytes": peak / 1e6,
    }


def checksum(out: Path) -> str:
    """The SHA-256 of all outputs, by name."""
    found = hashlib.sha256()
    for file in sorted(out.glob("*.parquet")):
        found.update(file.name.encode())
        with file.open("rb") as opened:
            found.update(hashlib.file_digest(opened, "sha256").digest())
    return found.hexdigest()


def killed(
    folder: Path, rows: Path, out: Path, *, kills: int, workers: list[int], undisturbed: dict[str, Any]
) -> dict[str, Any]:
    """Kills all processes of the command at random moments, so many times, each time with the next number of workers;
    then lets it end. Every second kill comes while it starts, the others after it has predicted some rows.

    The kills are spread over about the time that the undisturbed prediction took.
    """
    generator, made = random.Random(0), []
    work = undisturbed["rows"] / undisturbed["rows_per_second"]
    for kill, count in zip(range(kills), itertools.cycle(workers), strict=False):
        before, process = _state(out), started(folder, rows, out, workers=count)
        if in_work := bool(kill % 2):
            _wait(process, 600, until_other_than=before, out=out)
        _wait(process, generator.uniform(0, 2 * work / kills if in_work else undisturbed["seconds"] - work))
        made.append({"workers": count, "had_ended": _ended(process) is not None, "in_work": in_work})
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    last = measured(folder, rows, out, workers=undisturbed["workers"])
    return {"kills": made, "last": last, "checksum": checksum(out)}


def _wait(
    process: "subprocess.Popen[bytes]", seconds: float, *, until_other_than: object = None, out: Path | None = None
) -> None:
    """Waits so long, or until the process ends, or the state of an output's folder is another."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and _ended(process) is None:
        if out is not None and _state(out) != until_other_than:
            return
        time.sleep(0.02)


def _state(out: Path) -> dict[str, int]:
    """The size of each journal, by name."""
    found = {}
    for file in out.glob(".predict/*/.*.part.jsonl"):
        with contextlib.suppress(FileNotFoundError):
            found[file.name + file.parent.name] = file.stat().st_size
    return found


def _ended(process: "subprocess.Popen[bytes]") -> object | None:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def _children(process: int) -> list[int]:
    """The processes that a process has started."""
    file = Path(f"/proc/{process}/task/{process}/children")
    try:
        return [int(child) for child in file.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _memory(process: int) -> int:
    """The most memory in bytes that a process has had; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def overlap(folder: Path, rows: Path) -> dict[str, float]:
    """Median rows/s of one process with and without overlap, in turns."""
    found: dict[str, list[float]] = {"with": [], "without": []}
    for turn in range(ROUNDS):
        for name, overlaps in (("with", True), ("without", False)):
            out, before = folder / f"overlap-{name}-{turn}", OVERLAP.format(overlaps)
            rate = measured(folder, rows, out, before=before)["rows_per_second"]
            found[name].append(rate)
            shutil.rmtree(out)
    return {name: statistics.median(rates) for name, rates in found.items()}


def results(folder: Path, counts: list[int], workers: list[int], kills: int) -> Iterator[dict[str, Any]]:
    """Each part of the result as it is measured."""
    train(folder)
    rows = {count: write_rows(folder / f"rows-{count}", count) for count in counts}
    compared = counts[-2]
    runs = [measured(folder, rows[compared], folder / f"workers-{count}", workers=count) for count in workers]
    sums = {checksum(folder / f"workers-{count}") for count in workers}
    yield {"by_workers": runs, "equal_for_any_number_of_workers": len(sums) == 1}
    fastest = max(runs, key=lambda run: float(run["rows_per_second"]))
    by_rows = [
        fastest if n == compared else measured(folder, rows[n], folder / f"out-{n}", workers=fastest["workers"])
        for n in counts
    ]
    yield {"by_rows": by_rows}
    disturbed = killed(
        folder, rows[counts[-1]], folder / "killed", kills=kills, workers=workers, undisturbed=by_rows[-1]
    )
    equal = disturbed["checksum"] == checksum(folder / f"out-{counts[-1]}")
    yield {"killed": disturbed | {"equal_to_undisturbed": equal}}
    yield {"overlap": overlap(folder, rows[counts[0]])}


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description="Prediction of a folder of Parquet")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--scratch", type=Path, help="an existing folder for the rows; default: a temporary one")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    found: dict[str, Any] = {"about": "finetune predict of a folder of Parquet, tiny encoder", **machine.facts()}
    if len(options.rows) < 2:
        parser.error("--rows takes two numbers or more")
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        for part in results(Path(name), sorted(options.rows), options.workers, options.kills):
            print(json.dumps(part), flush=True)
            found |= part
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    if not found["killed"]["equal_to_undisturbed"]:
        raise SystemExit("the outputs after the kills differ from the undisturbed ones")


if __name__ == "__main__":
    main()
