"""What trackers cost: time per update with each, next to none; and with a server that never answers.

python benchmarks/trackers.py --out results/benchmarks/trackers.json

Every run is in a process and a folder of its own: MiniLM on MRPC, one epoch. Contestants take turns, and the order
changes by round. `share` is the extra time per update by the medians of all rounds, with the smallest and largest of
the rounds, which needs an idle machine. `in_main_thread` is what the run itself spends on a tracker, `cpu_of_thread`
what the tracker's thread computes, both as shares of the time of training.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
from dated import out_parser

from finetune.runs.events import Event, Updates

ROOT = Path(__file__).resolve().parents[1]
NONE, HANGING = "none", "mlflow, server hangs"
CONTESTANTS = {NONE: "", "tensorboard": "tensorboard", "mlflow": "mlflow", "wandb": "wandb", "trackio": "trackio"}
CONTESTANTS[HANGING] = "mlflow"
BATCH, WARM_UP = 32, 5  # rows; updates that are not timed


def environment(name: str, folder: Path, port: int) -> dict[str, str]:
    """Where each library writes: into the folder, or to the server that never answers."""
    uri = f"http://127.0.0.1:{port}" if name == HANGING else f"sqlite:///{folder}/mlflow.db"
    return {
        "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "MLFLOW_TRACKING_URI": uri, "WANDB_MODE": "offline",
        "WANDB_DIR": str(folder), "TRACKIO_DIR": str(folder / "trackio"),
    }  # fmt: skip


def measured(name: str, updates: int, seed: int, port: int) -> dict[str, float]:
    """One run in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", CONTESTANTS[name], f"--updates={updates}", f"--seed={seed}"]
        where = os.environ | environment(name, Path(folder), port)
        done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def installed() -> dict[str, float]:
    """Seconds that the run spends on trackers, that their threads compute after opening, and that their end takes;
    they grow while a run of this process is tracked.
    """
    from finetune.training.tracking.sender import Sender
    from finetune.training.tracking.tracking import Tracking

    seconds = {"run": 0.0, "thread": 0.0, "end": 0.0}
    tracked, close, opened, attempt = Tracking.__call__, Tracking.close, Sender._opened, Sender._try

    def timed_call(self: Tracking, event: Event) -> None:
        started = time.perf_counter()
        tracked(self, event)
        seconds["run"] += (time.perf_counter() - started) * isinstance(event, Updates)

    def timed_close(self: Tracking, seconds_left: float) -> None:
        started = time.perf_counter()
        close(self, seconds_left)
        seconds["end"] = time.perf_counter() - started

    def without_opening(self: Sender) -> Any:
        found = opened(self)
        seconds["thread"] = 0.0
        return found

    def timed_attempt(self: Sender, call: Callable[[], Any]) -> bool:
        started = time.thread_time()
        done = attempt(self, call)
        seconds["thread"] += time.thread_time() - started
        return done

    Tracking.__call__, Tracking.close = timed_call, timed_close  # type: ignore[method-assign, assignment]
    Sender._opened, Sender._try = without_opening, timed_attempt  # type: ignore[method-assign]
    return seconds


def child(tracker: str, updates: int, seed: int) -> dict[str, float]:
    """Seconds per update, the tracker's shares of them, and the loss; seconds at the end of the run."""
    import finetune

    ends: list[tuple[int, float]] = []
    losses: list[float] = []

    def watch(event: Event) -> None:
        if isinstance(event, Updates):
            losses.extend(event.losses)
            if event.update >= WARM_UP:
                ends.append((event.update, time.perf_counter()))

    seconds = installed()
    finetune.train(
        "glue-mrpc", model="minilm", limit=(updates + WARM_UP) * BATCH, device="cpu", seed=seed, out="runs",
        train={"epochs": 1, "batch_size": BATCH, "precision": "fp32"}, callbacks=watch, track=tracker,
    )  # fmt: skip
    (first, begin), (last, end) = ends[0], ends[-1]
    return {
        "seconds_per_update": (end - begin) / (last - first),
        "in_main_thread": seconds["run"] / (end - begin),
        "cpu_of_thread": seconds["thread"] / (end - begin),
        "seconds_at_end": seconds["end"],
        "loss": statistics.fmean(losses),
    }


def summary(found: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """The extra time of each contestant, a share of that without a tracker, and whether losses are equal."""
    plain = [one["seconds_per_update"] for one in found[NONE]]
    results = {}
    for name, some in found.items():
        seconds = [one["seconds_per_update"] for one in some]
        shares = [mine / theirs - 1 for mine, theirs in zip(seconds, plain, strict=True)]
        results[name] = {
            "seconds_per_update": statistics.median(seconds),
            "share": statistics.median(shares),
            "share_of_rounds": [min(shares), max(shares)],
            "in_main_thread": statistics.median(one["in_main_thread"] for one in some),
            "cpu_of_thread": statistics.median(one["cpu_of_thread"] for one in some),
            "seconds_at_end": max(one["seconds_at_end"] for one in some),
            "equal_losses": [one["loss"] for one in some] == [one["loss"] for one in found[NONE]],
        }
    return results


def main() -> None:
    """Measures all contestants, or in a process of its own one."""
    parser = out_parser(__doc__, required=False)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help="one run with this tracker")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.updates < 2 * WARM_UP:
        parser.error(f"--updates is {given.updates}, and fewer than {2 * WARM_UP} cannot be timed")
    if given.child is not None:
        print(json.dumps(child(given.child, given.updates, given.seed)))
        return
    facts, names = machine.facts(), list(CONTESTANTS)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with socket.create_server(("127.0.0.1", 0)) as listening:  # which accepts, and never answers
        for number in range(given.rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                found[name].append(measured(name, given.updates, number + 1, listening.getsockname()[1]))
                print(f"round {number + 1}: {name}: {found[name][-1]}", file=sys.stderr)
    text = json.dumps(facts | {"updates": given.updates, "rounds": given.rounds, "results": summary(found)}, indent=2)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
