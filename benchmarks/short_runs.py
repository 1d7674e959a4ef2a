"""Where the time of a short run goes: the CPU seconds of each part of `finetune run`, from start to exit.

python benchmarks/short_runs.py --out results/benchmarks/short_runs.json

The runs are that of `make demo` and those of made-up reviews, each with the recipe that `finetune run FILE` makes, in a
process of its own with an empty cache. Parts are told apart by the run's own events. CPU seconds are counted since
other work on the machine does not change them. Of the largest file only some updates are trained, and the seconds of
training and of its scores are multiplied to those of all: about 5 minutes on an idle core.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import machine
from dated import add_to
from start_up import reviews

ROOT = Path(__file__).resolve().parents[1]
ABOUT = "CPU seconds of the parts of short runs"
START, READING, ENCODER, TOKENS, TRAINING, DEV, BASELINES, SAVING, INTERVALS, END = (
    *("start and imports", "reading and checking rows", "loading the encoder", "tokens", "training"),
    *("scores of dev while training", "baselines", "saving", "intervals and record", "exit"),
)
PARTS = (START, READING, ENCODER, TOKENS, TRAINING, DEV, BASELINES, SAVING, INTERVALS, END)
STEPS = {  # how the events of a step begin, and the part that it belongs to
    "finding the encoder": ENCODER, "loading the encoder": ENCODER, "reading rows": READING, "encoding rows": TOKENS,
    "looking at the rows": TOKENS, "computing the first": TRAINING, "trying the baselines": BASELINES,
    "fitting a linear": BASELINES, "predicting with the baselines": BASELINES, "saving": SAVING,
    "scoring, with": INTERVALS, "scoring": DEV,
}  # fmt: skip
FILES = (300, 3_000, 30_000)  # rows
UPDATES = 200  # that are trained of a longer run


class Clock:
    """Adds the CPU seconds of this process up by part."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.part, self.at, self.updates, self.scored = START, 0.0, 0, 0

    def begin(self, part: str) -> None:
        """What was spent until now was on the part before; this one begins."""
        self.spent(self.part)
        self.part = part

    def spent(self, part: str) -> None:
        """What was spent since the last call was on this part."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        now = usage.ru_utime + usage.ru_stime
        self.seconds[part] += now - self.at
        self.at = now

    def see(self, event: Any) -> None:
        """Takes the time of an event of a run: one that begins a step, or that says what was done."""
        kind = type(event).__name__
        if kind == "Working":
            self.begin(next(part for step, part in STEPS.items() if event.what.startswith(step)))
        elif kind == "Training":
            self.begin(TRAINING)
        elif kind == "Updates":
            self.updates = event.update
            self.spent(TRAINING)
        elif kind in ("Predicted", "EpochDone"):
            self.spent(DEV)
            if kind == "EpochDone":
                self.part, self.scored = TRAINING, self.scored + 1


def child(arguments: list[str], out: Path) -> None:
    """Calls the command line as it is typed, and writes the seconds of each part but the exit."""
    clock = Clock()
    from finetune.cli.app import main
    from finetune.cli.progress import ProgressDisplay

    command: Any = import_module("finetune.commands.run.command")
    load, show = command.load_libraries, ProgressDisplay.__call__

    def seen(display: ProgressDisplay, event: Any) -> None:
        clock.see(event)
        show(display, event)

    def load_timed(*given: str) -> None:
        clock.begin(START)
        load(*given)
        clock.begin(READING)

    command.load_libraries = load_timed
    vars(command)["ProgressDisplay"].__call__ = seen

    clock.begin(READING)
    sys.argv = ["finetune", *arguments]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    clock.begin(END)
    out.write_text(json.dumps({"seconds": clock.seconds, "updates": clock.updates, "scored": clock.scored}))


def measured(arguments: list[str], folder: Path) -> dict[str, Any]:
    """The CPU seconds of each part of a run, and its updates."""
    found = folder / "parts.json"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "FINETUNE_CACHE": str(folder / "cache"),
    }  # fmt: skip
    command = [sys.executable, __file__, "--child", str(found), *arguments, "--out", str(folder / "results")]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=-3, stderr=-3)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    result: dict[str, Any] = json.loads(found.read_text())
    result["seconds"][END] += usage.ru_utime + usage.ru_stime - sum(result["seconds"].values())
    return result


def whole(file: Path, rows: int, folder: Path) -> dict[str, Any]:
    """The parts of the run of a file; of a long one those that its training of all updates would have."""
    from finetune.api.planning import plan

    (planned,) = plan([str(file)], {"model": "minilm"})
    train = planned.recipe.train
    updates = train.epochs * -(-round(0.9 * rows) // train.batch_size)
    shortened = [f"train.updates={UPDATES}"] if updates > 5 * UPDATES else []
    found = measured([str(file), "model=minilm", *shortened], folder)
    if shortened:
        found["seconds"][TRAINING] *= updates / found["updates"]
        found["seconds"][DEV] *= train.epochs / found["scored"]
        found |= {"trained_updates": found["updates"], "updates": updates}
    return found


def main() -> None:
    """Measures, prints and writes."""
    if sys.argv[1:2] == ["--child"]:
        child(["run", *sys.argv[3:]], Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description="Where the time of a short run goes")
    parser.add_argument("--rows", type=int, nargs="*", default=FILES, help="rows of the files")
    parser.add_argument("--out", type=Path, help="JSON file to add to")
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for rows in (None, *options.rows):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "reviews.csv"
            if rows is not None:
                with file.open("w", encoding="utf-8", newline="") as opened:
                    csv.writer(opened).writerows([("text", "label"), *reviews(rows)])
            of_run = measured(["quickstart"], Path(name)) if rows is None else whole(file, rows, Path(name))
            found.append({"run": "make demo" if rows is None else f"{rows:,} rows", **of_run})
            print(json.dumps(found[-1]), flush=True)
    add_to(options.out, ABOUT, {**machine.facts(), "runs": found})


if __name__ == "__main__":
    main()
