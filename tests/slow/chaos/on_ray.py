"""A sweep on Ray whose workers, and once the command itself, are killed: its records are those of one process."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from slow.chaos.commands import Running, start_new
from slow.chaos.outcome import whole_runs
from slow.chaos.places import Lab, require_ended, require_same
from slow.chaos.scenarios import SCENARIOS
from slow.chaos.trial import Tally
from support.processes import is_running, ray_tasks, soon

KILLS = 4  # of workers at most; the sweep may end before the last
ON_RAY = ("--on", "ray", "--workers", "2", "--quiet")
TASK = "_train"
LIMIT = 120.0  # seconds until a sweep on Ray counts as hanging


def faults(lab: Lab, name: str) -> Tally:
    """A command whose workers are killed, one that is killed itself after some of its workers, and the last one."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="SIGKILL on Ray")
    for _ in range(lab.count(1)):
        delays = [lab.random.uniform(0.1, usual.attempt.seconds) for _ in range(KILLS)]
        kills: list[int] = []

        def body(place: Path, delays: list[float] = delays, kills: list[int] = kills) -> None:
            first = start_new(place, *scenario.command, *ON_RAY)
            before = _kill_workers(first, delays[:1], kills)
            first.kill()
            attempt = first.wait(LIMIT)
            kills += [first.process.pid] * (attempt.code == -signal.SIGKILL)
            require_ended(attempt, -signal.SIGKILL, 0)
            soon(lambda: not any(map(is_running, before)))  # Ray ends them, whose locks are then free
            again = start_new(place, *scenario.command, *ON_RAY)
            _kill_workers(again, delays[1:], kills)
            require_ended(again.wait(LIMIT), 0)
            whole_runs(place / "results")
            require_same(scenario, place, usual.outcome)

        tally.trial(lab, usual.template, f"{name}, workers after {delays} s", body, faults=kills)
    return tally


def _kill_workers(running: Running, delays: list[float], kills: list[int]) -> list[int]:
    """Kills a worker of a command after each delay from when one trains, and adds it to `kills`; the workers that are
    left at last.
    """
    process = running.process.pid
    for delay in delays:
        soon(lambda: ray_tasks(process, TASK) or running.ended_within(0.0), LIMIT)
        time.sleep(delay)
        for worker in ray_tasks(process, TASK)[:1]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                kills.append(worker)
    return ray_tasks(process, TASK)
