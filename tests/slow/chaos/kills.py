"""Kills: at random moments, at every write, several in one run, by signals; then the same command finishes."""

import signal
import time
from pathlib import Path

from slow.chaos.commands import Attempt, finetune, start, start_new
from slow.chaos.faults import Fault
from slow.chaos.outcome import Failed, whole_runs
from slow.chaos.places import Lab, Undisturbed, require_ended, require_same
from slow.chaos.scenarios import SCENARIOS, Scenario
from slow.chaos.trial import Tally

KILLS = 12  # at random moments, of a scenario
MOST = 20_000  # bytes of a file: less than a model and its checkpoints have
TIMES, FEWEST = 20, 2  # in one run
STARTS = 7.0  # seconds that a new Python takes for its imports at most


def at_every_write(lab: Lab, name: str, shard: int = 0, shards: int = 1, share: float = 1.0) -> Tally:
    """SIGKILL before the k-th write, for every k of this shard, or a share of them."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="SIGKILL at a write")
    writes = usual.attempt.writes
    for number in lab.chosen(range(1 + shard, 1 + len(writes), shards), share=share):

        def body(place: Path, number: int = number) -> None:
            killed = finetune(place, *scenario.command, fault=Fault(at=number))
            require_ended(killed, -signal.SIGKILL)
            finish(scenario, place, usual)

        tally.trial(lab, usual.template, f"{name}, before write {number}, {writes[number - 1]}", body)
    return tally


def inside_writes(lab: Lab, name: str, shard: int = 0, shards: int = 1, share: float = 1.0) -> Tally:
    """SIGXFSZ in the middle of the next file of more than MOST bytes after the k-th write: those are native writes."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="kill inside a write")
    for number in lab.chosen(range(1 + shard, 1 + len(usual.attempt.writes), shards), share=share):

        def body(place: Path, number: int = number) -> None:
            require_ended(finetune(place, *scenario.command, fault=Fault(at=number, most=MOST)), -signal.SIGXFSZ, 0)
            finish(scenario, place, usual)

        tally.trial(lab, usual.template, f"{name}, after write {number}", body)
    return tally


def at_random(lab: Lab, name: str, *, new: bool = False) -> Tally:
    """SIGKILL after random delays, one to three in one run; with `new` in new Python processes."""
    scenario, usual = SCENARIOS[name], lab.undisturbed(name)
    tally = Tally(kind="SIGKILL at a random moment" + ", new process" * new)
    begin = start_new if new else start
    wanted = lab.count(4 if new else KILLS)
    while tally.tried < wanted:
        longest = usual.attempt.seconds + STARTS * new
        delays = [lab.random.uniform(0, longest) for _ in range(lab.random.choice((1, 1, 2, 3)))]

        def body(place: Path, delays: list[float] = delays) -> None:
            for delay in delays:
                running = begin(place, *scenario.command)
                running.kill_after(delay)
                require_ended(running.wait(), -signal.SIGKILL, 0)
            finish(scenario, place, usual)

        tally.trial(lab, usual.template, f"{name}, after {delays} s", body, faults=len(delays))
    return tally


def again_and_again(lab: Lab, name: str) -> Tally:
    """SIGKILL many times in one run, soon after each start, so that each is in another part of it."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="SIGKILL again and again")
    delays = [lab.random.uniform(0, usual.attempt.seconds) for _ in range(max(FEWEST, lab.count(TIMES)))]
    made: list[int] = []

    def body(place: Path) -> None:
        for delay in delays:
            running = start(place, *scenario.command)
            running.kill_after(delay)
            killed = running.wait()
            require_ended(killed, -signal.SIGKILL, 0)
            made.append(1)
        finish(scenario, place, usual)

    tally.trial(lab, usual.template, f"{name}, after {delays} s", body, faults=made)
    return tally


def by_signals(lab: Lab, name: str, *, new: bool = False) -> Tally:
    """SIGTERM and Ctrl-C at random moments: one line, the exit code that shells know, and the time to stop."""
    scenario, usual = SCENARIOS[name], lab.undisturbed(name)
    tally = Tally(kind="SIGTERM or Ctrl-C" + ", new process" * new)
    begin = start_new if new else start
    for index in range(lab.count(2 if new else 6)):
        number = (signal.SIGTERM, signal.SIGINT)[index % 2]
        delay = STARTS * new / 2 + lab.random.uniform(0.02, usual.attempt.seconds)

        def body(place: Path, number: signal.Signals = number, delay: float = delay) -> None:
            running = begin(place, *scenario.command)
            asked = running.kill_after(delay, number)
            stopped = running.wait()
            if require_stopped(stopped, number):
                tally.figure("seconds to stop", time.monotonic() - asked)
            finish(scenario, place, usual)

        tally.trial(lab, usual.template, f"{name}, {number.name} after {delay:.3f} s", body)
    return tally


def require_stopped(attempt: Attempt, number: signal.Signals) -> bool:
    """Whether a signal stopped a command, with one line; False if it had ended. Raises Failed for anything else."""
    require_ended(attempt, 128 + number, 0)
    if attempt.code == 0:
        return False
    if attempt.err.count("stopped by ") != 1 or "same command" not in attempt.err.splitlines()[-1]:
        raise Failed("the line that says how to resume", attempt.err[-500:])
    return True


def finish(scenario: Scenario, place: Path, usual: Undisturbed) -> None:
    """Runs the command again after a fault, and requires the undisturbed outcome; an output that is there already is
    replaced, since it is our own.
    """
    whole_runs(place / "results")
    require_ended(finetune(place, *scenario.command), 0)
    require_same(scenario, place, usual.outcome)
