"""`finetune run --live`: a page about the runs of a command, in the folder of the first, renewed while they train."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType

from finetune.analysis.pages.templates import require_jinja2
from finetune.commands.run.live_run import RUNNING, LiveRun
from finetune.data.atomic import write_atomically
from finetune.errors import UserError
from finetune.runs.environment import first_process
from finetune.runs.events import AlreadyDone, Done, Ended, EpochDone, Event, Note, Started, Training, Watcher
from finetune.runs.folder import LIVE
from finetune.task_types.resolved_run import ResolvedRun

EVERY = 2.0  # seconds between two writings, at least
SHARE = 0.01  # of the time that writing may take
URGENT_EVENTS = (Started, Training, EpochDone, Done, Ended)  # events that are on the page at once


def require_own_process(on: str | None) -> None:
    """Raises UserError for a page about runs that are trained in other processes."""
    if on is not None:
        raise UserError("`live` follows runs of this process, and `on` starts others", "Leave one of them out")


def followed(watch: Watcher, planned: Sequence[ResolvedRun], *, live: bool) -> AbstractContextManager[Watcher]:
    """The watcher of the runs of a command; with `live` one that keeps a page too, in the first of several processes.

    Raises UserError without jinja2.
    """
    return LivePage(len(planned), then=watch) if live and first_process() else nullcontext(watch)


class LivePage:
    """A watcher that writes a page, and passes every event on. A context: at its end the page says so.

    `planned` is the number of runs of the command. Raises UserError without jinja2. A page that cannot be written costs
    a note, and no run.
    """

    def __init__(self, planned: int, *, then: Watcher) -> None:
        require_jinja2()
        self.planned = planned
        self.then = then
        self.runs: list[LiveRun] = []
        self.file: Path | None = None
        self.due = 0.0
        self.off = False

    def __enter__(self) -> "LivePage":
        """This page."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Writes the page a last time, which renews itself no more."""
        self._stop("")
        self._write(ended=True)

    def __call__(self, event: Event) -> None:
        """Passes an event on, then takes what it says."""
        self.then(event)
        match event:
            case Started():
                self._begin(event)
            case AlreadyDone():
                self.runs.append(LiveRun(folder=Path(event.folder)))
                self._guarded(self.runs[-1].finish)
            case Done() if self.runs:
                self._guarded(self.runs[-1].finish)
            case Ended():
                self._stop(event.failure)
            case _ if self.runs:
                self._guarded(partial(self.runs[-1].see, event))
        if isinstance(event, URGENT_EVENTS) or time.monotonic() >= self.due:
            self._write(ended=False)

    def _begin(self, event: Started) -> None:
        self.runs.append(LiveRun(folder=Path(event.folder), device=event.device))
        if self.file is None:
            self.file = Path(event.folder) / LIVE
            self.then(Note(f"live page: {self.file}"))

    def _stop(self, failure: str) -> None:
        if self.runs and self.runs[-1].state == RUNNING:
            self.runs[-1].stop(failure)

    def _write(self, *, ended: bool) -> None:
        if self.file is None:
            return
        from finetune.commands.run.live_page import live_page

        file, started = self.file, time.monotonic()
        self._guarded(lambda: write_atomically(file, live_page(self.runs, self.planned, ended=ended)))
        self.due = time.monotonic() + max(EVERY, (time.monotonic() - started) / SHARE)

    def _guarded(self, act: Callable[[], None]) -> None:
        """Does what may fail without the run: a full disk, a folder that was removed, a score that cannot be drawn."""
        if self.off:
            return
        try:
            act()
        except Exception as error:  # whatever it is, the run is worth more than its page
            self.off = True
            self.then(Note(f"the live page is not renewed any more ({type(error).__name__}: {error})"))
