"""`finetune predict` of a folder of Parquet: rows/s by number of workers, memory by rows, and kills at random moments.

python benchmarks/predict_rows.py --out results/benchmarks/many_rows.json

Texts are made up, of 14 to 26 words; the encoder is tiny and random, so that the time is mostly spent outside it. A
file has 500,000 rows in row groups of 100,000. Memory is that of the largest process. `overlap` compares rows/s of one
process, with the next rows read and tokenized in a thread while the model predicts (the default on a GPU), and without.
The rates need an idle machine; the kills, of a prediction of many more rows, do not: what is compared there is the
output, with that of one process for the rows that both have. Each part is added to the file when it is done, and the
same command continues after it.
"""

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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import machine
import memory_by_rows as made_up
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dated import out_parser, write_json

FILE_ROWS, GROUP_ROWS = 500_000, 100_000
DISTINCT = 100_000  # texts, which are repeated with their number
ROUNDS = 3  # of overlap and none, in turns
START_SECONDS = 12.0  # in which a command starts, on two cores
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
        written = folder / f"rows-{file:03}.parquet"
        pq.write_table(pa.table(cells), written, row_group_size=GROUP_ROWS)
        os.utime(written, (0, 0))  # which outputs name: that of equal rows is equal
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
        peak = max(peak, *map(_most_memory, [process.pid, *_children(process.pid)]))
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


def killed(folder: Path, rows: Path, out: Path, *, kills: int, workers: list[int], seconds: float) -> dict[str, Any]:
    """Kills all processes of the command at random moments, so many times, each time with the next number of workers;
    then lets it end. Every second kill comes while it starts, the others after it has predicted some rows, up to so
    many seconds later.
    """
    generator, made, peak = random.Random(0), [], 0
    for kill, count in zip(range(kills), itertools.cycle(workers), strict=False):
        before, process = _state(out), started(folder, rows, out, workers=count)
        if in_work := bool(kill % 2):
            peak = max(peak, _wait(process, 600, until_other_than=before, out=out))
        peak = max(peak, _wait(process, generator.uniform(0, seconds if in_work else START_SECONDS)))
        made.append({"workers": count, "had_ended": _ended(process) is not None, "in_work": in_work})
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    last = measured(folder, rows, out, workers=workers[0])
    numbers = np.concatenate([pq.read_table(file, columns=["n"])["n"] for file in sorted(out.glob("*.parquet"))])
    return {
        "kills": made,
        "rows": len(numbers),
        "complete": np.array_equal(numbers, np.arange(last["rows"])),
        "peak_memory_megabytes": max(peak / 1e6, last["peak_memory_megabytes"]),
    }


def _wait(
    process: "subprocess.Popen[bytes]", seconds: float, *, until_other_than: object = None, out: Path | None = None
) -> int:
    """Waits so long, or until the process ends, or the state of an output's folder is another; returns the most memory
    in bytes that a process of the command has had.
    """
    until, peak = time.monotonic() + seconds, 0
    while time.monotonic() < until and _ended(process) is None:
        peak = max(peak, *map(_most_memory, [process.pid, *_children(process.pid)]))
        if out is not None and _state(out) != until_other_than:
            break
        time.sleep(0.05)
    return peak


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


def _most_memory(process: int) -> int:
    return machine.memory(process).get("VmHWM", 0)


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


def rates(folder: Path, counts: list[int], workers: list[int]) -> dict[str, Any]:
    """Rows/s by workers on the largest number of rows, memory by rows, and what overlapping changes."""
    rows = {count: write_rows(folder / f"rows-{count}", count) for count in counts}
    most = rows[counts[-1]]
    runs = [measured(folder, most, folder / f"workers-{count}", workers=count) for count in workers]
    sums = {checksum(folder / f"workers-{count}") for count in workers}
    fewer = [measured(folder, rows[n], folder / f"out-{n}", workers=workers[0]) for n in counts[:-1]]
    equal = {"equal_for_any_number_of_workers": len(sums) == 1}
    return {"by_workers": runs, "by_rows": [*fewer, runs[0]], **equal, "overlap": overlap(folder, rows[counts[0]])}


def kills(folder: Path, rows: int, some: int, count: int, workers: list[int], seconds: float) -> dict[str, Any]:
    """What kills change: the rows that a prediction of `some` rows has too are compared with it, file by file."""
    out, plain = folder / "killed", folder / "plain"
    measured(folder, write_rows(folder / "some", some), plain)
    found = killed(folder, write_rows(folder / "rows", rows), out, kills=count, workers=workers, seconds=seconds)
    names = sorted(file.name for file in plain.glob("*.parquet"))
    equal = [(plain / name).read_bytes() == (out / name).read_bytes() for name in names]
    return {"killed": found | {"files_compared": len(names), "files_equal": sum(equal)}}


def main() -> None:
    """Measures what the file lacks, prints and writes it."""
    parser = out_parser("Prediction of a folder of Parquet")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000], help="rows whose rate is measured")
    parser.add_argument("--most", type=int, default=10_000_000, help="rows that are predicted between kills")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=240, help="between the first rows and a kill, at most")
    parser.add_argument("--scratch", type=Path, help="an existing folder for the rows; default: a temporary one")
    parser.add_argument("--only", choices=("rates", "kills"), help="one part; default: both")
    options = parser.parse_args()
    counts = sorted(options.rows)
    parts: dict[str, Callable[[Path], dict[str, Any]]] = {
        "rates": partial(rates, counts=counts, workers=options.workers),
        "kills": partial(
            kills, rows=options.most, some=counts[-1], count=options.kills, workers=options.workers,
            seconds=options.seconds,
        ),
    }  # fmt: skip
    found = json.loads(options.out.read_text()) if options.out.is_file() else machine.facts()
    for name, part in parts.items():
        if name in found.get("parts", []) or options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            train(Path(folder))
            found |= part(Path(folder)) | {"parts": [*found.get("parts", []), name]}
        write_json(options.out, found)
        print(json.dumps(found, indent=1), flush=True)
    if differing := [name for name, ok in _checks(found).items() if not ok]:
        raise SystemExit(f"outputs differ: {', '.join(differing)}")


def _checks(found: dict[str, Any]) -> dict[str, bool]:
    """Whether each comparison of outputs that was made holds."""
    killed = found.get("killed")
    compared = {} if killed is None else {"after kills": killed["files_equal"] == killed["files_compared"]}
    complete = {} if killed is None else {"rows": bool(killed["complete"])}
    return {"by workers": bool(found.get("equal_for_any_number_of_workers", True)), **compared, **complete}


if __name__ == "__main__":
    main()
