"""Two processes under torchrun: a killed rank, a killed launcher, SIGTERM; then the same command finishes."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from slow.chaos.commands import Running, start_new
from slow.chaos.outcome import Failed
from slow.chaos.places import Lab, require_same
from slow.chaos.scenarios import SCENARIOS
from slow.chaos.trial import Tally

LAUNCHER = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
TRIALS = 3
GRACE = 60.0  # seconds in which processes must end whose launcher or peer was killed


def faults(lab: Lab, name: str) -> Tally:
    """Each kind of fault at a random moment of training."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="torchrun, 2 processes")
    whole = lab.copy(usual.template)
    begun = time.monotonic()
    _require_done(_launched(whole, scenario.command).wait().code)
    seconds = time.monotonic() - begun
    expected = scenario.leaves(whole)
    for index in range(lab.count(TRIALS) * 3):
        what = ("rank", "launcher", "SIGTERM")[index % 3]
        delay = lab.random.uniform(0.6, 1.0) * seconds  # the first half is imports

        def body(place: Path, what: str = what, delay: float = delay) -> None:
            running = _launched(place, scenario.command)
            time.sleep(delay)
            ranks = _children(running.process.pid)
            if what == "rank":
                for rank in ranks[:1]:
                    os.kill(rank, signal.SIGKILL)
            else:
                running.kill(signal.SIGKILL if what == "launcher" else signal.SIGTERM)
            asked = time.monotonic()
            running.wait(delay + GRACE)
            _wait_for(ranks, kills=what == "launcher")
            if what == "SIGTERM":
                tally.figure("seconds to stop, 2 processes", time.monotonic() - asked)
            _require_done(_launched(place, scenario.command).wait().code)
            require_same(scenario, place, expected)

        tally.trial(lab, usual.template, f"{name}, {what} after {delay:.2f} s", body)
    return tally


def _launched(place: Path, command: tuple[str, ...]) -> Running:
    return start_new(place, *command, launcher=LAUNCHER)


def _require_done(code: int | None) -> None:
    if code != 0:
        raise Failed("a run of two processes", f"it ended with {code}")


def _children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            name, _, rest = status.read_text().rpartition(") ")
            if int(rest.split()[1]) == pid:
                found.append(int(name.split()[0]))
    return sorted(found)


def _wait_for(ranks: list[int], *, kills: bool) -> None:
    """Waits for processes to end, or with `kills` ends them, as a user does after the launcher was killed.

    Raises Failed where they hang.
    """
    until = time.monotonic() + GRACE
    for rank in ranks if kills else ():
        with suppress(ProcessLookupError):
            os.kill(rank, signal.SIGKILL)
    while alive := [rank for rank in ranks if Path(f"/proc/{rank}").exists()]:
        if time.monotonic() > until:
            for rank in alive:
                os.kill(rank, signal.SIGKILL)
            raise Failed("time", f"{len(alive)} processes hung for {GRACE:.0f} s")
        time.sleep(0.2)
