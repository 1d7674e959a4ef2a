"""Many small runs at once: overhead by executor, seconds by workers, equal records, and workers that are killed.

python benchmarks/many_runs.py --out results/benchmarks/many_runs.json

Each run has one thread and a random encoder, so that its time is mostly that of starting it. The runs of one process
are the reference: every other way has to write the same records, predictions and weights. Slurm's jobs are started by
submitit's local executor, without a queue. Kills come at random moments (seeded), each to a process that trains; a
sweep ends when all its runs are done, and further ones begin until there were enough kills. The seconds need an idle
machine, the kills do not: each part is added to the file when it is done, and the same command continues after it.
"""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json
from predict_speed import tiny_encoder

ROOT = Path(__file__).resolve().parents[1]
TIMES = {"finished", "seconds", "examples_per_second", "peak_memory_bytes", "checksum", "cost", "git_commit"}
PAUSE = (0.5, 4.0)  # seconds between kills, at least and at most
PLAIN, SLURM = "one process", "slurm"
START = "from finetune.training.executors import on_slurm; on_slurm.CLUSTER = 'local'; "
START += "from finetune.cli.app import main; main()"


def command(model: Path, out: Path, runs: int, *options: str) -> subprocess.Popen[str]:
    """`finetune run` of so many seeds, with one thread each."""
    settings = [f"model={model}", "train.epochs=2", "max_length=32", "limit=200"]
    arguments = ["run", "quickstart", *settings, "--seeds", str(runs), "--quiet", "--out", str(out), *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment["FINETUNE_CACHE"] = str(out / "cache")
    return subprocess.Popen(
        [sys.executable, "-c", START, *arguments], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def timed(model: Path, out: Path, runs: int, *options: str) -> float:
    """Seconds of the whole command. Ends the measurement where it fails."""
    started = time.perf_counter()
    running = command(model, out, runs, *options)
    _, err = running.communicate()
    if running.returncode != 0:
        raise SystemExit(err)
    return time.perf_counter() - started


def results(out: Path) -> dict[str, str]:
    """What decides each record of a folder, by id, with the checksums of predictions and weights."""
    found = {}
    for file in out.glob("*/*/record.json"):
        record = json.loads(file.read_text())
        found[record["id"]] = json.dumps({key: value for key, value in record.items() if key not in TIMES})
    return found


def kill_workers(model: Path, folder: Path, runs: int, kills: int, seed: int) -> dict[str, Any]:
    """Sweeps whose workers are killed, until so many were killed; how many of all records are those of one process."""
    timed(model, folder / "plain", runs)
    expected, moments = results(folder / "plain"), random.Random(seed)
    done, sweeps, equal = 0, 0, 0
    while done < kills:
        out = folder / f"killed-{sweeps}"
        done += _killed(model, out, runs, kills - done, moments)
        sweeps, equal = sweeps + 1, equal + _equal(results(out), expected)
    return {"kills": done, "killed_runs": runs * sweeps, "after_kills": equal}


def _killed(model: Path, out: Path, runs: int, most: int, moments: random.Random) -> int:
    """Kills workers of one sweep, which is repeated until it ends with 0; returns how many were killed."""
    done = 0
    while True:
        running = command(model, out, runs, "--on", "ray", "--workers", "2", "--checkpoint-updates", "5")
        while running.poll() is None:
            time.sleep(moments.uniform(*PAUSE))
            if done < most and (process := _one_that_trains(out, moments)):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                done += 1
        if running.wait() == 0:
            return done


def _one_that_trains(out: Path, moments: random.Random) -> int | None:
    holders = sorted(out.glob("*/*/.holder"))
    while holders:
        words = holders.pop(moments.randrange(len(holders))).read_text().split()
        if len(words) > 1 and words[1].isdecimal():
            return int(words[1])
    return None


def alone(model: Path, folder: Path, repeats: int) -> dict[str, float]:
    """Median seconds of a command with a single run, by executor, in turns."""
    ways: dict[str, list[str]] = {PLAIN: [], "ray": ["--on", "ray", "--workers", "1"], SLURM: ["--on", "slurm"]}
    found: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(repeats):
        for way, options in ways.items():
            found[way].append(timed(model, folder / f"{way}-{turn}", 1, *options))
    return {way: statistics.median(seconds) for way, seconds in found.items()}


def times(model: Path, folder: Path, runs: int, workers: Sequence[int], repeats: int) -> dict[str, Any]:
    """Seconds of a command with one run by executor and with many by workers, and how many records are equal."""
    of_one = alone(model, folder / "alone", repeats)
    slurm, one = (results(folder / "alone" / f"{way}-0") for way in (SLURM, PLAIN))
    seconds, equal = {PLAIN: timed(model, folder / "plain", runs)}, {SLURM: _equal(slurm, one)}
    expected = results(folder / "plain")
    for count in workers:
        way = f"ray, {count}"
        seconds[way] = timed(model, folder / way, runs, "--on", "ray", "--workers", str(count))
        equal[way] = _equal(results(folder / way), expected)
    return {"seconds_of_one": of_one, "seconds": seconds, "equal": equal}


def main() -> None:
    """Measures what the file lacks, prints and writes it."""
    parser = out_parser("Many small runs at once")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3, help="of a command with a single run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("times", "kills"), help="one part; default: both")
    options = parser.parse_args()
    new = {"about": "many small runs at once", **machine.facts(), "runs": options.runs}
    facts: dict[str, Any] = json.loads(options.out.read_text()) if options.out.is_file() else new
    parts: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
        "times": partial(times, runs=options.runs, workers=options.workers, repeats=options.repeats),
        "kills": partial(kill_workers, runs=options.runs, kills=options.kills, seed=options.seed),
    }
    for name, part in parts.items():
        if name in facts.get("parts", []) or options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = tiny_encoder(Path(folder) / "tiny")
            facts |= part(model, Path(folder)) | {"parts": [*facts.get("parts", []), name]}
        write_json(options.out, facts)
        print(json.dumps(facts, indent=1), flush=True)


def _equal(found: dict[str, str], expected: dict[str, str]) -> int:
    """How many of the expected records are there and equal."""
    return sum(found.get(name) == record for name, record in expected.items())


if __name__ == "__main__":
    main()
