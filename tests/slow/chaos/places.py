"""Folders to disturb commands in: a template for each scenario, copies of it, and the undisturbed outcome."""

import random
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from slow.chaos.commands import Attempt, call, finetune
from slow.chaos.outcome import Failed, Outcome, differences, litter
from slow.chaos.scenarios import SCENARIOS, Scenario

TRACEBACK = "Traceback (most recent call last)"


class Skipped(Exception):
    """This machine cannot do what a part needs; the reason."""


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """A scenario that nothing disturbed: the folder before it, how it ended, and what it left."""

    template: Path
    attempt: Attempt
    outcome: Outcome


@dataclass(kw_only=True)
class Lab:
    """A folder for everything of one process, and the scenarios that it has prepared."""

    folder: Path
    random: random.Random
    scale: float = 1.0
    prepared: dict[str, Undisturbed] = field(default_factory=dict)

    def undisturbed(self, name: str) -> Undisturbed:
        """Runs a scenario once without a fault. Raises Skipped where the machine cannot."""
        if name not in self.prepared:
            scenario = SCENARIOS[name]
            template = self._template(scenario)
            place = self.copy(template)
            attempt = finetune(place, *scenario.command)
            if "precision" in attempt.err and attempt.code == 2:
                raise Skipped(attempt.err.splitlines()[-1])
            require_ended(attempt, 0)
            self.prepared[name] = Undisturbed(template=template, attempt=attempt, outcome=scenario.leaves(place))
            shutil.rmtree(place)
        return self.prepared[name]

    def copy(self, template: Path) -> Path:
        """A new folder with the content of another; times of files are kept."""
        place = self.folder / f"place-{uuid.uuid4().hex[:12]}"
        shutil.copytree(template, place, symlinks=True)
        return place

    def count(self, number: float) -> int:
        """So many trials, by scale, and at least one."""
        return max(1, round(number * self.scale))

    def chosen(self, every: range, *, share: float = 1.0) -> list[int]:
        """A share of these, and of it one by scale, at random."""
        return sorted(self.random.sample(every, min(len(every), self.count(share * len(every)))))

    def _template(self, scenario: Scenario) -> Path:
        place = self.folder / f"template-{len(self.prepared)}-{uuid.uuid4().hex[:6]}"
        place.mkdir(parents=True)
        call(write_encoder, place / "encoder")
        for name, content in scenario.files.items():
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(content, encoding="utf-8")
        for command in scenario.before:
            require_ended(finetune(place, *command), 0)
        return place


def write_encoder(folder: Path) -> None:
    """A tiny random BERT."""
    from support.encoders import write_bert
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder.mkdir(parents=True)
    write_bert(folder)


def require_ended(attempt: Attempt, *codes: int) -> None:
    """Raises Failed unless a command ended with one of these exit codes, and without a traceback."""
    if attempt.code is None:
        raise Failed("time", f"{' '.join(attempt.arguments)} hung")
    if TRACEBACK in attempt.err + attempt.out:
        raise Failed("a traceback", attempt.err[-2000:])
    if attempt.code not in codes:
        raise Failed("an exit code", f"{' '.join(attempt.arguments)} ended with {attempt.code}: {attempt.err[-500:]}")


def require_one_error(attempt: Attempt, *codes: int, runs: int = 1) -> None:
    """Raises Failed unless a command ended with code 2, or one of these, and with one line of error for a run."""
    require_ended(attempt, *(codes or (2,)))
    if not 1 <= [line.startswith("error: ") for line in attempt.err.splitlines()].count(True) <= runs:
        raise Failed("one line of error", attempt.err[-2000:])


def require_same(scenario: Scenario, place: Path, expected: Outcome) -> None:
    """Raises Failed unless a folder holds the undisturbed outcome, and nothing else."""
    if found := list(differences(expected, scenario.leaves(place))):
        raise Failed("another result", "; ".join(found[:3]))
    if left := litter(place):
        raise Failed("litter", ", ".join(left[:5]))
