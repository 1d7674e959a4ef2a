"""The commands that read a finished run, and what they must do where one of its files is damaged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slow.chaos.commands import Attempt, finetune
from slow.chaos.outcome import Failed
from slow.chaos.places import require_ended, require_one_error
from slow.chaos.scenarios import Scenario

LEFT_OUT = "it is left out"  # of a list: the warning of a damaged record
NUMBER = re.compile(r"\d+\.\d+")
VARYING = re.compile(r"\d+(\.\d+)? ?(s|rows/s|examples/s|MB)\b|in \d.*? s\b")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a reading command printed, and the file that it wrote."""

    out: str
    file: bytes


def readers(scenario: Scenario, run: str) -> tuple[tuple[str, ...], ...]:
    """Every command that reads a run of a scenario; one that writes names its file last."""
    target = scenario.command[1]
    return (
        ("ls",),
        ("show", run),
        ("show", run, "--predictions", "3"),
        ("table", "glue"),
        ("evaluate", run, target, "--device", "cpu"),
        ("predict", run, target, "--device", "cpu", "--quiet", "-o", "answers.jsonl"),
        ("report", run, "-o", "page.html"),
        scenario.command,
    )


def read(place: Path, command: Sequence[str]) -> tuple[Attempt, Answer]:
    """Runs a reading command."""
    attempt = finetune(place, *command)
    file = place / command[-1]
    written = "-o" in command and file.is_file()
    return attempt, Answer(out=VARYING.sub("#", attempt.out), file=file.read_bytes() if written else b"")


def require_honest(place: Path, command: Sequence[str], expected: Answer) -> None:
    """Raises Failed unless a command answers as before the damage, or says in one line what is damaged.

    With such a line it may print what it still can read, but no number that it did not print before.
    """
    attempt, found = read(place, command)
    if attempt.code == 2 or LEFT_OUT in attempt.err:
        require_ended(attempt, 0) if attempt.code == 0 else require_one_error(attempt)
        if new := {*NUMBER.findall(found.out)} - {*NUMBER.findall(expected.out)}:
            raise Failed("another number", f"{' '.join(command)} printed {sorted(new)[:3]}: {attempt.err[-300:]}")
        return
    require_ended(attempt, 0)
    if command[0] == "ls" and {*found.out.splitlines()} < {*expected.out.splitlines()}:
        return  # without its record there is no run to list
    if found.out != expected.out:
        raise Failed("another answer", f"{' '.join(command)} printed {found.out[-600:]!r}, not {expected.out[-600:]!r}")
    if found.file != expected.file:
        raise Failed("another answer", f"{' '.join(command)} wrote another file")
