"""The kinds of fault. Each yields trials: what is tried, and what raises Failed where a promise is not kept."""

import errno
import random
import re
import shutil
import signal
import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from slow.chaos.process import Attempt, Fault, finetune, forks, start
from slow.chaos.scenarios import REVIEW, SCENARIOS, Failed, Scenario, differences, training, whole_records

MOST_BYTES = 20_000  # of a file: less than a model and its checkpoints have
ERRORS = ((errno.ENOSPC, True), (errno.EROFS, True), (errno.EIO, False))  # the first two stay
AT_ONCE = 4
READERS = (
    *(("ls",), ("show", REVIEW), ("show", REVIEW, "--predictions", "3"), ("evaluate", REVIEW, REVIEW)),
    *(("predict", REVIEW, REVIEW, "-o", "answers.jsonl"), ("report", REVIEW, "-o", "page.html"), training(REVIEW)),
)
NUMBER = re.compile(r"\d+\.\d+")
TIMES = re.compile(r"\d+(\.\d+)? ?(s|rows/s|examples/s|MB)\b|in \d.*? s\b")
Trial = tuple[str, Callable[[Path], Any]]


@dataclass(kw_only=True)
class Lab:
    """A folder for the trials of one process, and a scenario's folder, attempt and outcome without a fault."""

    folder: Path
    draw: random.Random
    prepared: dict[str, tuple[Path, Attempt, dict[str, Any]]] = field(default_factory=dict)

    def undisturbed(self, name: str) -> tuple[Path, Attempt, dict[str, Any]]:
        """Runs a scenario once without a fault: (folder before it, attempt, what it left)."""
        if name not in self.prepared:
            scenario, template = SCENARIOS[name], self.folder / f"template-{uuid.uuid4().hex[:6]}"
            template.mkdir(parents=True)
            encoder = forks().Process(target=_write_encoder, args=(template / "encoder",))
            encoder.start()
            encoder.join()
            for file, content in scenario.files.items():
                (template / file).parent.mkdir(exist_ok=True)
                (template / file).write_text(content, encoding="utf-8")
            for command in scenario.before:
                require_ended(finetune(template, *command), 0)
            place = self.copy(template)
            attempt = require_ended(finetune(place, *scenario.command), 0)
            self.prepared[name] = (template, attempt, scenario.leaves(place))
            shutil.rmtree(place)
        return self.prepared[name]

    def copy(self, template: Path) -> Path:
        """A new folder with the content of another."""
        return shutil.copytree(template, self.folder / f"place-{uuid.uuid4().hex[:12]}", symlinks=True)


def require_ended(attempt: Attempt, *codes: int) -> Attempt:
    """Raises Failed unless a command ended with one of these exit codes, without a traceback; 2 has a line of error."""
    command = " ".join(attempt.arguments)
    if attempt.code is None:
        raise Failed("time", f"{command} hung")
    if "Traceback (most recent call last)" in attempt.err + attempt.out:
        raise Failed("a traceback", attempt.err[-2000:])
    if attempt.code not in codes or (attempt.code == 2 and not re.search("^error: ", attempt.err, re.MULTILINE)):
        raise Failed("an exit code", f"{command} ended with {attempt.code}: {attempt.err[-500:]}")
    return attempt


def finish(scenario: Scenario, expected: dict[str, Any], place: Path) -> None:
    """Runs the command again after a fault, and requires the undisturbed outcome."""
    whole_records(place)
    require_ended(finetune(place, *scenario.command), 0)
    require_same(scenario, expected, place)


def require_same(scenario: Scenario, expected: dict[str, Any], place: Path) -> None:
    """Raises Failed unless a folder holds the undisturbed outcome."""
    if different := list(differences(expected, scenario.leaves(place))):
        raise Failed("another result", "; ".join(different[:3]))


def at_writes(lab: Lab, name: str, *, most_bytes: int | None = None) -> Iterator[Trial]:
    """SIGKILL before every write; or in the middle of the next file that is larger than `most_bytes`."""
    scenario, (_, attempt, expected) = SCENARIOS[name], lab.undisturbed(name)
    codes = (-signal.SIGKILL,) if most_bytes is None else (-signal.SIGXFSZ, 0)

    def body(number: int, place: Path) -> None:
        fault = Fault(at=number, most_bytes=most_bytes)
        require_ended(finetune(place, *scenario.command, fault=fault), *codes)
        finish(scenario, expected, place)

    for number, write in enumerate(attempt.writes, start=1):
        yield f"write {number}, {write}", partial(body, number)


def at_random(lab: Lab, name: str) -> Iterator[Trial]:
    """SIGKILL after random delays, one to three in one run."""
    scenario, (_, attempt, expected) = SCENARIOS[name], lab.undisturbed(name)

    def body(delays: list[float], place: Path) -> None:
        for delay in delays:
            running = start(place, *scenario.command)
            running.kill_after(delay)
            require_ended(running.wait(), -signal.SIGKILL, 0)
        finish(scenario, expected, place)

    for number in range(12):
        delays = [lab.draw.uniform(0, attempt.seconds) for _ in range(1 + number % 3)]
        yield f"after {delays} s", partial(body, delays)


def by_signals(lab: Lab, name: str) -> Iterator[Trial]:
    """SIGTERM and Ctrl-C at random moments: one line, and the exit code that shells know."""
    scenario, (_, attempt, expected) = SCENARIOS[name], lab.undisturbed(name)

    def body(number: int, delay: float, place: Path) -> None:
        running = start(place, *scenario.command)
        running.kill_after(delay, number)
        stopped = require_ended(running.wait(), 128 + number, 0)
        if stopped.code and "same command" not in stopped.err.splitlines()[-1]:
            raise Failed("the line that says how to resume", stopped.err[-500:])
        finish(scenario, expected, place)

    for number in (signal.SIGTERM, signal.SIGINT) * 3:
        delay = lab.draw.uniform(0.02, attempt.seconds)
        yield f"{number.name} after {delay:.3f} s", partial(body, number, delay)


def errors_at_writes(lab: Lab, name: str) -> Iterator[Trial]:
    """An error of the system at every write: a full disk, a device that fails, a read-only file system."""
    scenario, (_, attempt, expected) = SCENARIOS[name], lab.undisturbed(name)

    def body(fault: Fault, place: Path) -> None:
        stopped = require_ended(finetune(place, *scenario.command, fault=fault), 0, 2)
        if scenario.output and stopped.code == 0:  # the note that the output is ours may be missing
            require_same(scenario, expected, place)
        else:
            finish(scenario, expected, place)

    for number, write in enumerate(attempt.writes, start=1):
        code, lasting = ERRORS[number % len(ERRORS)]
        fault = Fault(at=number, errno=code, lasting=lasting)
        yield f"{errno.errorcode[code]} at write {number}, {write}", partial(body, fault)


def damaged_interrupted(lab: Lab, name: str) -> Iterator[Trial]:
    """A file of a run that was killed late: the same command comes to the same result, or stops with one line."""
    scenario, (template, attempt, expected) = SCENARIOS[name], lab.undisturbed(name)
    begun = lab.copy(template)
    finetune(begun, *scenario.command, fault=Fault(at=round(0.6 * len(attempt.writes))))

    def body(file: Path, damage: Callable[[bytes], bytes], place: Path) -> None:
        shutil.rmtree(place)
        shutil.copytree(begun, place, symlinks=True)
        (place / file).write_bytes(damage((place / file).read_bytes()))
        again = require_ended(finetune(place, *scenario.command), 0, 2)
        if again.code == 0 and file.name != "events.jsonl":  # the log: its lost lines are not written again
            require_same(scenario, expected, place)

    finished = {record.parent for record in begun.glob("results/*/*/record.json")}  # which it does not write again
    yield from _damages(lab, begun, body, spared=finished)


def damaged_finished(lab: Lab, name: str) -> Iterator[Trial]:
    """A file of a finished run: commands answer as before, or say in one line what is damaged, and no new number."""
    scenario, (template, _, _) = SCENARIOS[name], lab.undisturbed(name)
    done = lab.copy(template)
    require_ended(finetune(done, *scenario.command), 0)
    before = {command: TIMES.sub("#", finetune(lab.copy(done), *command).out) for command in READERS}

    def body(file: Path, damage: Callable[[bytes], bytes], place: Path) -> None:
        shutil.rmtree(place)
        shutil.copytree(done, place, symlinks=True)
        (place / file).write_bytes(damage((place / file).read_bytes()))
        for command in lab.draw.sample(READERS, 3):
            attempt = require_ended(finetune(place, *command), 0, 2)
            shown = TIMES.sub("#", attempt.out)
            if new := {*NUMBER.findall(shown)} - {*NUMBER.findall(before[command])}:
                raise Failed("another number", f"{' '.join(command)} printed {sorted(new)[:3]}: {attempt.err[-300:]}")
            if command[0] == "run":
                return  # which may have written the file again

    yield from _damages(lab, done, body)


def equal_at_once(lab: Lab, name: str) -> Iterator[Trial]:
    """Equal commands at once, one of which may be killed: they train once, and show one record."""
    scenario, (_, attempt, expected) = SCENARIOS[name], lab.undisturbed(name)

    def body(kill: bool, place: Path) -> None:
        running = [start(place, *scenario.command, "--json") for _ in range(AT_ONCE)]
        if kill:
            running.pop(0).kill_after(lab.draw.uniform(0.1, attempt.seconds))
        shown = {require_ended(command.wait(), 0).out for command in running}
        (events,) = place.glob("results/*/*/events.jsonl")
        if len(shown) != 1 or (not kill and events.read_text().count('"event": "start"') != 1):
            raise Failed("one training", f"{len(shown)} records were shown")
        finish(scenario, expected, place)

    for number in range(8):
        yield f"{AT_ONCE} at once{', one killed' * (number % 2)}", partial(body, bool(number % 2))


def writers_at_once(lab: Lab, name: str) -> Iterator[Trial]:
    """As many runs with different seeds into one results folder, while `ls` reads it."""
    lab.undisturbed(name)

    def body(place: Path) -> None:
        target = SCENARIOS[name].command[1]
        running = [start(place, *training(target, "train.epochs=1", f"seed={seed}")) for seed in range(8)]
        while any(command.process.exitcode is None for command in running):
            require_ended(finetune(place, "ls"), 0)
        for command in running:
            require_ended(command.wait(), 0)
        if (count := len(whole_records(place))) != len(running):
            raise Failed("a record", f"{len(running)} runs left {count} records")

    yield "8 writers", body


def _damages(
    lab: Lab, place: Path, body: Callable[..., None], *, spared: Collection[Path] = frozenset()
) -> Iterator[Trial]:
    """Every file of results and cache outside of some folders: emptied, cut, one bit flipped, one digit changed."""

    def flipped(content: bytes) -> bytes:
        damaged = bytearray(content)
        if damaged:
            damaged[lab.draw.randrange(len(damaged))] ^= 1 << lab.draw.randrange(8)
        return bytes(damaged)

    def changed(content: bytes) -> bytes:
        digits = [at for at, byte in enumerate(content) if chr(byte) in "0123456789"]
        at = lab.draw.choice(digits) if digits else 0
        return content[:at] + b"%d" % lab.draw.randrange(10) + content[at + 1 :]

    damages = {"emptied": lambda _: b"", "cut": lambda content: content[: len(content) // 2]}
    for file in sorted(file for part in ("results", "cache") for file in (place / part).rglob("*") if file.is_file()):
        if not spared.isdisjoint(file.parents):
            continue
        for what, damage in (damages | {"flipped": flipped, "changed": changed}).items():
            if file.name != ".lock":
                yield f"{file.relative_to(place)} {what}", partial(body, file.relative_to(place), damage)


def _write_encoder(folder: Path) -> None:
    """A tiny random BERT."""
    from support.encoders import write_bert
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder.mkdir(parents=True)
    write_bert(folder)


KINDS: dict[str, Callable[[Lab, str], Iterator[Trial]]] = {
    "SIGKILL at a write": at_writes,
    "SIGXFSZ inside a write": partial(at_writes, most_bytes=MOST_BYTES),
    "SIGKILL at a random moment": at_random,
    "SIGTERM or Ctrl-C": by_signals,
    "error at a write": errors_at_writes,
    "damaged file of an interrupted run": damaged_interrupted,
    "damaged file of a finished run": damaged_finished,
    "equal commands at once": equal_at_once,
    "writers into one results folder": writers_at_once,
}
OF_REVIEWS = {"damaged file of a finished run", "equal commands at once", "writers into one results folder"}
PARTS = [
    (kind, name)
    for kind in KINDS
    for name, scenario in SCENARIOS.items()
    if name == "sentence" or not (kind in OF_REVIEWS or (kind.startswith("damaged") and scenario.output))
]
