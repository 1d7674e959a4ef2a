"""Damaged files: emptied, cut, a bit flipped, removed; every file of a finished run and of an interrupted one."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from slow.chaos.commands import finetune
from slow.chaos.faults import Fault
from slow.chaos.outcome import Failed, Outcome, differences
from slow.chaos.places import Lab, require_ended, require_one_error
from slow.chaos.readers import read, readers, require_honest
from slow.chaos.scenarios import SCENARIOS, Scenario
from slow.chaos.trial import Tally

READERS = 5  # of a damaged file, at random
LATE = 0.6  # of its writes after which a run is interrupted
FLIPS = 12  # more of a checkpoint: torch reads most damaged ones without an error
EVENTS = "events.jsonl"  # the log: what it lost is not written again


def emptied(file: Path, random: Random) -> None:
    """No bytes are left."""
    file.write_bytes(b"")


def cut(file: Path, random: Random) -> None:
    """Its end is missing."""
    content = file.read_bytes()
    file.write_bytes(content[: random.randrange(max(1, len(content)))])


def flipped(file: Path, random: Random) -> None:
    """One bit is another."""
    content = bytearray(file.read_bytes())
    if content:
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    file.write_bytes(content)


def changed(file: Path, random: Random) -> None:
    """One digit is another, so that what is written there can still be parsed."""
    content = bytearray(file.read_bytes())
    if places := [place for place, byte in enumerate(content) if chr(byte).isdigit() and byte < 128]:
        place = random.choice(places)
        content[place] = ord("0") + (content[place] - ord("0") + 1 + random.randrange(9)) % 10
    file.write_bytes(content)


def removed(file: Path, random: Random) -> None:
    """It is not there."""
    file.unlink()


DAMAGES = (emptied, cut, flipped, changed, removed)


def of_finished(lab: Lab, name: str) -> Tally:
    """Commands that read the run answer as before, or stop with one line."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="damaged file of a finished run")
    template = lab.copy(usual.template)
    require_ended(finetune(template, *scenario.command), 0)
    (run,) = (file.parent for file in template.glob("results/*/*/record.json"))
    require_ended(finetune(template, *scenario.command, "train.epochs=1"), 0)
    (other,) = (file.parent for file in template.glob("results/*/*/record.json") if file.parent != run)
    commands = (*readers(scenario, run.name), ("compare", run.name, other.name))
    expected = {}
    for command in commands:
        attempt, expected[command] = read(lab.copy(template), command)
        require_ended(attempt, 0)
    for file, damage in _damages(lab, run, template):

        def body(place: Path, file: Path = file, damage: Callable[..., None] = damage) -> None:
            damage(place / file, lab.random)
            for command in lab.random.sample(commands, READERS):
                if file.name == EVENTS and command[0] == "report":  # which draws what is left of it
                    require_ended(read(place, command)[0], 0, 2)
                    continue
                require_honest(place, command, expected[command])
                if command == scenario.command:
                    return  # which may have written the file again

        tally.trial(lab, template, f"{name}, {file} {damage.__name__}", body)
    return tally


def of_interrupted(lab: Lab, name: str) -> Tally:
    """The same command comes to the same result, or stops with one line."""
    scenario, usual, tally = SCENARIOS[name], lab.undisturbed(name), Tally(kind="damaged file of an interrupted run")
    template = lab.copy(usual.template)
    killed = finetune(template, *scenario.command, fault=Fault(at=round(LATE * len(usual.attempt.writes))))
    require_ended(killed, -signal.SIGKILL)
    for folder in (template / "results", template / "cache"):
        for file, damage in _damages(lab, folder, template):
            body = partial(_resumed, lab, scenario, usual.outcome, file, damage)
            tally.trial(lab, template, f"{name}, {file} {damage.__name__}", body)
    return tally


def _resumed(
    lab: Lab, scenario: Scenario, expected: Outcome, file: Path, damage: Callable[..., None], place: Path
) -> None:
    damage(place / file, lab.random)
    again = finetune(place, *scenario.command)
    if again.code == 2:
        require_one_error(again, runs=scenario.runs)
        return
    require_ended(again, 0)
    if file.name == EVENTS:
        for log in place.glob(f"results/*/*/{EVENTS}"):
            log.write_bytes(b"")
        expected = {run: {**facts, "losses": {}} for run, facts in expected.items()}
    if found := list(differences(expected, scenario.leaves(place))):
        raise Failed("another result", "; ".join(found[:3]))


def _damages(lab: Lab, folder: Path, template: Path) -> list[tuple[Path, Callable[..., None]]]:
    """Every file of a folder, relative to its template, with every damage; a share of them by scale."""
    files = sorted(file.relative_to(template) for file in folder.rglob("*") if file.is_file() and file.name != ".lock")
    every = [(file, damage) for file in files for damage in (*DAMAGES, *[flipped] * FLIPS * (file.suffix == ".pt"))]
    return lab.random.sample(every, min(len(every), lab.count(len(every))))
