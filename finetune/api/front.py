"""Where a command runs: called from Python it prints nothing that was not asked for; the command line sets another."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finetune.analysis.table import Part
    from finetune.api.callbacks import Callback
    from finetune.errors import UserError
    from finetune.runs.events import Watcher


class FailedRun(UserWarning):
    """One of several runs failed; the result has the others."""


class Front:
    """A caller in Python. `brief`: a line for each result is enough. `noted`: the notes that were shown."""

    brief = False

    def __init__(self) -> None:
        self.noted = set[str]()

    def tell(self, *parts: "Part") -> None:
        """Shows something while a command works, such as how data was read."""

    def asks(self, question: str) -> bool:
        """The answer to a question of yes or no; from Python the call itself is a yes."""
        return True

    def failed(self, failures: "Sequence[UserError]", *, every: bool = False) -> None:
        """Warns of runs that failed, whose errors the result has too; where `every` run failed, the first is raised."""
        if failures and every:
            raise failures[0]
        for failure in failures:
            warnings.warn(str(failure), FailedRun, stacklevel=4)

    @contextmanager
    def working(
        self,
        doing: str,
        *,
        model: str | Path = "",
        progress: bool | None = None,
        callbacks: "Callback | Iterable[Callback]" = (),
    ) -> "Iterator[Watcher]":  # fmt: skip
        """Imports torch and transformers, unless `model` is an export, and gives what follows the events meanwhile.

        `doing` is what takes seconds, for a person.
        """
        from finetune.api.callbacks import watcher_of
        from finetune.api.quiet import quiet, quiet_for

        with quiet_for(model) if model else quiet():
            yield watcher_of(progress, callbacks)


PYTHON = Front()
current = PYTHON


@contextmanager
def at(front: Front) -> Iterator[None]:
    """Lets commands run at this front."""
    global current
    before, current = current, front
    try:
        yield
    finally:
        current = before


def here() -> Front:
    """The front of the running command."""
    return current
