"""A bar of progress and pages in a notebook; the bar also for a script that asks for it."""

import statistics
import sys
from html import escape
from pathlib import Path
from typing import Any

from finetune.api.quiet import without_hints
from finetune.runs.events import (
    AlreadyDone,
    Ended,
    EpochDone,
    Event,
    RowsPredicted,
    Started,
    Training,
    Updates,
    Watcher,
    unwatched,
)

HEIGHT = 600  # pixels of a page in a notebook


def in_notebook() -> bool:
    """Whether this is a notebook, which shows HTML; IPython's terminal is none."""
    return "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel")


def progress_of(wanted: bool | None) -> Watcher:
    """The display of a run: by default a bar in a notebook, and none in a script."""
    return ProgressBar() if wanted or (wanted is None and in_notebook()) else unwatched


class ProgressBar:
    """A watcher that shows the updates of each run, or predicted rows: rate, time left, loss and the last score."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.plan: Training | None = None
        self.place = self.score = ""

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        match event:
            case AlreadyDone() | Started():
                self.place = event.folder
            case Training():
                self.plan, self.score = event, ""
                self._move(self.place, event.done, event.updates, "updates")
            case Updates() if self.plan is not None:
                words = f"loss {statistics.fmean(event.losses):.3f}  {self.score}"
                self._move(f"{self.plan.unit} {event.epoch}/{self.plan.epochs}", event.update, words=words)
            case EpochDone():
                self.score = f"{event.metrics[0].name} {event.metrics[0].shown(event.result.headline)}"
            case RowsPredicted():
                self._move("predicted", event.done, event.total, "rows")
                if event.done == event.total:
                    self._close()
            case Ended() if self.bar is not None:
                self._move(f"finished: {self.place}", self.bar.n, words=self.score)
                self._close()

    def _close(self) -> None:
        self.bar.close()
        self.bar = self.plan = None

    def _move(self, doing: str, done: int, total: int = 0, unit: str = "", words: str = "") -> None:
        if self.bar is None:
            with without_hints():
                from tqdm.auto import tqdm

            self.bar = tqdm(total=total, initial=done, unit=f" {unit}", dynamic_ncols=True)
        self.bar.set_description(doing, refresh=False)
        self.bar.set_postfix_str(words, refresh=False)
        self.bar.update(done - self.bar.n)


def show_page(file: Path) -> None:
    """Shows a page, in a notebook."""
    if in_notebook():
        from IPython.display import display

        page = escape(file.read_text(encoding="utf-8"), quote=True)
        frame = f'<iframe srcdoc="{page}" width="100%" height="{HEIGHT}" style="border:1px solid #ccc"></iframe>'
        display({"text/html": frame, "text/plain": str(file)}, raw=True)
