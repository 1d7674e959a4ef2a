"""A progress line for a notebook, or for a script that asks for it."""

import html
import statistics
import sys
import time
from html import escape
from pathlib import Path
from typing import Any

from finetune.runs.events import (
    AlreadyDone,
    Ended,
    EpochDone,
    Event,
    Pace,
    Started,
    Training,
    Updates,
    Watcher,
    duration,
    unwatched,
)

EVERY = 0.5  # seconds between two changes of the line


def progress_of(wanted: bool | None) -> Watcher:
    """The display of a run: by default a line in a notebook, and none in a script."""
    display = _notebook()
    if wanted is False or (wanted is None and display is None):
        return unwatched
    return ProgressLine(display)


def _notebook() -> Any:
    """IPython's display function inside a notebook; None elsewhere, IPython's terminal included."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


def in_notebook() -> bool:
    """Whether this is a notebook, which shows HTML."""
    return _notebook() is not None


class ProgressLine:
    """A watcher that keeps one line up to date: epoch, update, loss, rate, time left and the last score."""

    def __init__(self, display: Any) -> None:
        self.display = display
        self.handle: Any = None
        self.pace: Pace | None = None
        self.place = self.score = ""
        self.width = 0
        self.drawn = 0.0

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        match event:
            case AlreadyDone():
                self._draw(f"already done: {event.folder}")
            case Started():
                self.place = event.folder
                self._draw(f"running on {event.device}: {event.folder}")
            case Training():
                self.pace, self.score = Pace(event), ""
            case Updates():
                self._draw_updates(event)
            case EpochDone():
                if self.pace is not None:
                    self.pace.end_epoch(event.result.epoch)
                self.score = f"{event.metrics[0].name} {event.metrics[0].shown(event.result.headline)}"
            case Ended():
                self._end()

    def _draw_updates(self, some: Updates) -> None:
        pace = self.pace
        if pace is None:
            return
        pace.add(some)
        if time.monotonic() - self.drawn < EVERY:
            return
        parts = [f"{pace.plan.unit} {some.epoch}/{pace.plan.epochs}", f"update {some.update:,}/{pace.plan.updates:,}"]
        parts += [f"loss {statistics.fmean(some.losses):.3f}", f"{duration(pace.left)} left", self.score]
        self._draw("  ".join(filter(None, parts)))

    def _draw(self, text: str) -> None:
        self.drawn = time.monotonic()
        if self.display is None:
            sys.stderr.write(f"\r{text.ljust(self.width)}")
            sys.stderr.flush()
            self.width = len(text)
            return
        shown = {"text/html": f"<code>{html.escape(text)}</code>", "text/plain": text}
        if self.handle is None:
            self.handle = self.display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)

    def _end(self) -> None:
        """The last line of a run; the next run has a new one."""
        if self.pace is not None:
            self._draw("  ".join(filter(None, [f"finished: {self.place}", self.score])))
        if self.display is None and self.width:
            sys.stderr.write("\n")
        self.handle, self.pace, self.width = None, None, 0


HEIGHT = 600  # pixels of a page in a notebook


def show_page(file: Path) -> None:
    """Shows a page, in a notebook."""
    if not in_notebook():
        return
    from IPython.display import display

    page = escape(file.read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{page}" width="100%" height="{HEIGHT}" style="border:1px solid #ccc"></iframe>'
    display({"text/html": frame, "text/plain": str(file)}, raw=True)
