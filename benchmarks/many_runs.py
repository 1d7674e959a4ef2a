"""Many small runs at once: overhead by executor, seconds by workers, equal records, and workers that are killed.

python benchmarks/many_runs.py --out results/benchmarks/many_runs.json

Each run has one thread and a random encoder, so that its time is mostly that of starting it. The runs of one process
are the reference: every other way has to write the same records, predictions and weights. Slurm's jobs are started by
submitit's local executor, without a queue. Kills come at random moments (seeded), each to a process that trains; a
command ends when all runs are done.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import machine
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


def killed(model: Path, out: Path, runs: int, kills: int, seed: int) -> int:
    """Kills workers until so many were killed or all runs are done; repeats the command until it ends with 0."""
    moments, done = random.Random(seed), 0
    while True:
        running = command(model, out, runs, "--on", "ray", "--workers", "2", "--checkpoint-updates", "5")
        while running.poll() is None:
            time.sleep(moments.uniform(*PAUSE))
            if done < kills and (process := _one_that_trains(out, moments)):
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


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description="Many small runs at once")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3, help="of a command with a single run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    facts: dict[str, Any] = {"about": "many small runs at once", **machine.facts(), "runs": options.runs}
    with tempfile.TemporaryDirectory() as name:
        model = tiny_encoder(Path(name) / "tiny")
        facts["seconds_of_one"] = alone(model, Path(name) / "alone", options.repeats)
        seconds = {PLAIN: timed(model, Path(name) / "plain", options.runs)}
        expected = results(Path(name) / "plain")
        slurm, plain = (results(Path(name) / "alone" / f"{way}-0") for way in (SLURM, PLAIN))
        facts["equal"] = {SLURM: _equal(slurm, plain)}
        for workers in options.workers:
            out = Path(name) / f"ray-{workers}"
            seconds[f"ray, {workers}"] = timed(model, out, options.runs, "--on", "ray", "--workers", str(workers))
            facts["equal"][f"ray, {workers}"] = _equal(results(out), expected)
        out = Path(name) / "killed"
        kills = killed(model, out, options.runs, options.kills, options.seed) if options.kills else 0
        facts |= {"seconds": seconds, "kills": kills, "after_kills": _equal(results(out), expected) if kills else 0}
    print(
        json.dumps(
            {key: facts[key] for key in ("seconds_of_one", "seconds", "equal", "kills", "after_kills")}, indent=1
        )
    )
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(facts, indent=1) + "\n")


def _equal(found: dict[str, str], expected: dict[str, str]) -> int:
    """How many of the expected records are there and equal."""
    return sum(found.get(name) == record for name, record in expected.items())


if __name__ == "__main__":
    main()
