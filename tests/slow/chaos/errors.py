"""Errors of the system at every write: a full disk, a read or write that fails, a file system that became read-only."""

import errno
from pathlib import Path

from slow.chaos.commands import finetune
from slow.chaos.faults import Fault
from slow.chaos.kills import finish
from slow.chaos.places import Lab, require_ended, require_one_error, require_same
from slow.chaos.scenarios import SCENARIOS, WRITING
from slow.chaos.trial import Tally

LASTING = (errno.ENOSPC, errno.EROFS)  # these stay; the third is for one write
ERRORS = (*LASTING, errno.EIO)


def at_every_write(lab: Lab, name: str, shard: int = 0, shards: int = 1, share: float = 1.0) -> Tally:
    """An error at the k-th write, for every k of this shard or a share of them; then the command runs without it."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="error at a write")
    writes = usual.attempt.writes
    for number in lab.chosen(range(1 + shard, 1 + len(writes), shards), share=share):
        code = ERRORS[number // shards % len(ERRORS)]
        fault = Fault(at=number, errno=code, lasting=code in LASTING)

        def body(place: Path, fault: Fault = fault) -> None:
            stopped = finetune(place, *scenario.command, fault=fault)
            if stopped.code:
                require_one_error(stopped, runs=scenario.runs)
            elif scenario in WRITING:  # a write that may fail, such as of the note that the output is ours
                require_ended(stopped, 0)
                return require_same(scenario, place, usual.outcome)
            return finish(scenario, place, usual)

        what = f"{name}, {errno.errorcode[code]} at write {number}, {writes[number - 1]}"
        tally.trial(lab, usual.template, what, body)
    return tally
