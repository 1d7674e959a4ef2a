"""`python -m slow.chaos`: runs the harness, prints progress, and writes its record; `make chaos`."""

import argparse
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from slow.chaos.commands import ROOT
from slow.chaos.parts import parts
from slow.chaos.record import write_record
from slow.chaos.trial import Tally
from slow.chaos.work import Plan, run_parts


def main() -> None:
    """Exits with 1 if a fault was not survived."""
    given = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given.work.mkdir(parents=True, exist_ok=True)
    work, started = given.work / "work.jsonl", time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    plan = Plan(seed=given.seed, scale=given.scale, folder=folder)
    chosen = [part for part in parts().values() if re.search(given.only, part.name)]

    def keep(tallies: Sequence[Tally]) -> None:
        seconds = sum(tally.seconds for tally in tallies) / given.cores
        finished = (len(tallies), len(parts()))
        write_record(given.out, tallies, seed=given.seed, scale=given.scale, seconds=seconds, parts=finished)

    try:
        tallies = run_parts(
            plan, chosen, work=work, cores=given.cores, tell=lambda text: print(text, flush=True), keep=keep
        )
    finally:
        if (folder / "failures").is_dir():
            shutil.copytree(folder / "failures", given.work / "failures", symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    keep(tallies)
    if not any(tally.failures for tally in tallies):
        work.unlink()
    tried, survived = (sum(getattr(tally, name) for tally in tallies) for name in ("tried", "survived"))
    print(f"{given.out}: {tried:,} faults, {survived:,} survived, {(time.monotonic() - started) / 60:.0f} min")
    for failure in (failure for tally in tallies for failure in tally.failures):
        print(f"FAILED {failure.tried}: lost {failure.lost}; {failure.detail}; {given.work / 'failures'}")
    sys.exit(tried != survived)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m slow.chaos", description=__doc__)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the trials; 1 takes about an hour on 2 cores"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "benchmarks" / "reliability.json")
    parser.add_argument("--only", default="", help="a regular expression that the names of parts match")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "chaos", help="where unfinished work is kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()
