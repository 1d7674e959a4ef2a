"""Folders that are read-only, and folders that vanish while a run is trained in them."""

import shutil
import time
from pathlib import Path

from slow.chaos.commands import finetune, start
from slow.chaos.full_disk import remount, tmpfs
from slow.chaos.kills import finish
from slow.chaos.outcome import Failed, differences
from slow.chaos.places import Lab, require_ended, require_one_error
from slow.chaos.readers import read, readers
from slow.chaos.scenarios import SCENARIOS, training
from slow.chaos.trial import Tally

NAME = "sentence"


def read_only(lab: Lab) -> Tally:
    """Training stops with one line; a finished run on a read-only disk is still shown."""
    scenario, usual, tally = SCENARIOS[NAME], lab.undisturbed(NAME), Tally(kind="read-only folder")
    for index in range(lab.count(12)):
        begun = bool(index % 2)

        def body(place: Path, begun: bool = begun) -> None:
            with tmpfs(place / "disk") as disk:
                shutil.copytree(usual.template, disk, dirs_exist_ok=True)
                if begun:
                    start(disk, *scenario.command).kill_after(lab.random.uniform(0.1, usual.attempt.seconds))
                    time.sleep(0.2)
                remount(disk, "ro")
                stopped = finetune(disk, *scenario.command)
                require_ended(stopped, 0, 2) if begun else require_one_error(stopped)
                remount(disk, "rw")
                finish(scenario, disk, usual)
                remount(disk, "ro")
                (run,) = (file.parent.name for file in disk.glob("results/*/*/record.json"))
                for command in readers(scenario, run):
                    if "-o" not in command:
                        require_ended(read(disk, command)[0], 0)

        tally.trial(lab, usual.template, "begun" if begun else "not begun", body)
    return tally


def vanishing(lab: Lab) -> Tally:
    """The run's folder, or all of results, is removed at a random moment."""
    scenario, usual, tally = SCENARIOS[NAME], lab.undisturbed(NAME), Tally(kind="folder that vanishes")
    expected = {run: {**facts, "losses": {}} for run, facts in usual.outcome.items()}
    for index in range(lab.count(20)):
        delay = lab.random.uniform(0.05, usual.attempt.seconds)
        pattern = ("results", "results/*/*")[index % 2]

        def body(place: Path, delay: float = delay, pattern: str = pattern) -> None:
            running = start(place, *scenario.command)
            time.sleep(delay)
            for folder in place.glob(pattern):
                folder.rename(place / "gone")  # at once: what is removed file by file may keep a new record
            stopped = running.wait()
            if stopped.code != 0:
                require_one_error(stopped)
            require_ended(finetune(place, *training(scenario.command[1])), 0)
            for log in place.glob("results/*/*/events.jsonl"):
                log.write_bytes(b"")  # its lines from before are lost
            if found := list(differences(expected, scenario.leaves(place))):
                raise Failed("another result", "; ".join(found[:3]))

        tally.trial(lab, usual.template, f"{pattern} after {delay:.3f} s", body)
    return tally
