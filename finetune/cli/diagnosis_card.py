"""The card of a diagnosis, as `run` and `show` print it."""

from collections.abc import Sequence
from dataclasses import replace

from finetune.analysis.diagnosis import DATA, Diagnosis, diagnosis_of_seeds
from finetune.cli.console import Terminal
from finetune.cli.next_commands import GivenOptions
from finetune.cli.run_facts import best_of_tasks
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord


def print_diagnoses(
    console: Terminal, records: Sequence[RunRecord], given: GivenOptions, *, folder: RunFolder | None = None
) -> frozenset[str]:
    """Prints a card for each task whose best run has a cause; returns the notes of records that the cards say too.

    `folder` is that of a single run, which may be elsewhere than `given.out` says.
    """
    told = set[str]()
    for whose, group in best_of_tasks(records):
        found = diagnosis_of_seeds([(one, folder or RunFolder.of(given.out, one.task, one.id)) for one in group])
        _print_card(console, whose, found, given)
        told |= found.notes
    return frozenset(told)


def _print_card(console: Terminal, whose: str, found: Diagnosis, given: GivenOptions) -> None:
    """Cause, evidence and command of the first cause; the command is not broken, so that it can be pasted."""
    for cause in found.causes[:1]:
        console.print_line(f"diagnosis: {whose}{cause.name}", style="bold yellow")
        console.print_line(f"  {cause.evidence}")
        if cause.words:
            said = replace(given, data=None) if DATA in cause.words else given
            console.print_command(said.command(*cause.words))
