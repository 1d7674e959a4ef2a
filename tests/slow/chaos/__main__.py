"""`python -m slow.chaos`: runs the harness, prints progress, and writes its record; `make chaos`."""

import argparse
import json
import multiprocessing
import re
import shutil
import signal
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from slow.chaos.faults import PARTS
from slow.chaos.harness import Tally, run_part, write_record
from slow.chaos.process import ROOT


def main() -> None:
    """Exits with 1 if a fault was not survived. Parts that an earlier, stopped harness finished are not run again."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = options.work / f"{options.seed}-{options.share}.jsonl"
    work.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in work.read_text().splitlines()] if work.is_file() else []
    tallies = [Tally(**line) for line in lines]
    finished = {(tally.kind, tally.scenario) for tally in tallies}
    missing = [part for part in PARTS if part not in finished and re.search(options.only, ": ".join(part))]
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    settings = {"share": options.share, "seed": options.seed, "folder": folder}
    with ProcessPoolExecutor(options.cores, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            for ended in as_completed([pool.submit(run_part, *part, **settings) for part in missing]):
                tallies.append(tally := Tally(**ended.result()))
                with work.open("a") as opened:
                    opened.write(json.dumps(ended.result()) + "\n")
                write_record(options.out, tallies, seed=options.seed, share=options.share, parts=len(PARTS))
                counts = f"{tally.tried} tried, {tally.survived} survived, {tally.seconds:.0f} s"
                print(f"{tally.kind}: {tally.scenario}: {counts}  [{len(tallies)} of {len(PARTS)}]", flush=True)
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.kill()  # a pool waits for what they do, minutes
            raise
    failures = [failure for tally in tallies for failure in tally.failures]
    for what, lost, detail in failures:
        print(f"FAILED {what}: lost {lost}; {detail}")
    if failures:
        sys.exit(1)
    work.unlink(missing_ok=True)
    shutil.rmtree(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m slow.chaos", description=__doc__)
    parser.add_argument("--share", type=float, default=0.15, help="of the trials; 0.15 takes about an hour on 2 cores")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "benchmarks" / "reliability.json")
    parser.add_argument("--only", default="", help="a regular expression that `KIND: SCENARIO` of a part matches")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "chaos", help="where unfinished work is kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()
