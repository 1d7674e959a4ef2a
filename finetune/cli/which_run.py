"""Which of several runs a name means, for commands whose output does not name it."""

from collections.abc import Sequence
from pathlib import Path

from finetune.cli.options import note_line
from finetune.cli.terminal import one_line, say
from finetune.inference.export_facts import is_export
from finetune.runs.lookup import find_run, latest_words, runs_of


def say_which(names: Sequence[str], out: Path) -> None:
    """Prints on standard error which run is used for each name that several have."""
    for name in names:
        if is_export(name) or find_run(name, out) is not None:
            continue
        if len(found := runs_of(name, out)) > 1:
            say(one_line(note_line(latest_words(name, found))), err=True)
