"""Cause and Diagnosis: what a card says of a run."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from finetune.runs.folder import RESULTS

Words = tuple[str, ...]  # of a command, behind `finetune`


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A reason why a model is bad: its `name`, `evidence` in a sentence with the figures that show it, and the command
    that comes next, in words behind `finetune`. The card says what `notes` of the record say.
    """

    name: str
    evidence: str
    words: Words = ()
    notes: Words = ()

    @property
    def command(self) -> str:
        """The next command, quoted for a shell; empty where the record does not tell enough to write one."""
        return shlex.join(["finetune", *self.words]) if self.words else ""

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The causes that a run's record shows, the most certain first; none for a run with which nothing is wrong.

    Example: `print(run.diagnosis); run.diagnosis.command`
    """

    causes: tuple[Cause, ...] = ()

    @property
    def cause(self) -> str:
        """The name of the first cause; empty without one."""
        return self.causes[0].name if self.causes else ""

    @property
    def command(self) -> str:
        """The command that the first cause asks for; empty without one."""
        return self.causes[0].command if self.causes else ""

    @property
    def notes(self) -> frozenset[str]:
        """The notes of the record that the card of the first cause says too."""
        return frozenset(self.causes[0].notes if self.causes else ())

    def for_runs_in(self, out: Path) -> "Diagnosis":
        """With commands that name the folder of the runs, where that is not the usual one."""
        if out == RESULTS:
            return self
        causes = [replace(one, words=(*one.words, "--out", str(out)) if one.words else ()) for one in self.causes]
        return Diagnosis(causes=tuple(causes))

    def __bool__(self) -> bool:
        return bool(self.causes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.causes)) or "no cause found"
