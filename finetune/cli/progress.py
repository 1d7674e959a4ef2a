"""Progress of training and prediction on standard error: a live line on a terminal, else a line now and then."""

import math
import statistics
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from finetune.cli.console import Terminal
from finetune.cli.options import note_line
from finetune.metrics.metric import find_metric
from finetune.metrics.scores import in_words
from finetune.runs.events import (
    AlreadyDone,
    Encoded,
    Ended,
    EpochDone,
    Event,
    Forecast,
    Note,
    Predicted,
    RowsPredicted,
    Started,
    Training,
    Updates,
    Working,
    duration,
)

BAR = 12  # characters
LINE_EVERY = 20.0  # seconds between lines of progress if standard error is not a terminal
RECENT = 5  # groups of updates whose mean is the rate


class Pace:
    """Follows updates and evaluations of a plan."""

    def __init__(self, plan: Training) -> None:
        self.plan = plan
        self.update = plan.done
        self.recent = deque[tuple[int, float]](maxlen=RECENT)  # number of updates, seconds
        self.evaluations_left = plan.epochs
        self.evaluation = 0.0  # seconds of the last one
        self.updated_at = time.monotonic()

    def add(self, group: Updates) -> None:
        """Counts a group of updates."""
        self.update, self.updated_at = group.update, time.monotonic()
        self.evaluations_left = self.plan.epochs - group.epoch + 1
        self.recent.append((len(group.losses), group.seconds))

    def end_epoch(self, epoch: int) -> None:
        """Counts an evaluation, which began after the last update."""
        self.evaluation = time.monotonic() - self.updated_at
        self.evaluations_left = self.plan.epochs - epoch

    @property
    def seconds_per_update(self) -> float:
        """The mean of the recent updates."""
        return sum(seconds for _, seconds in self.recent) / sum(count for count, _ in self.recent)

    @property
    def rate(self) -> float:
        """Examples per second."""
        plan = self.plan
        return plan.examples * plan.epochs / plan.updates / max(self.seconds_per_update, 1e-9)

    @property
    def left(self) -> float:
        """Seconds of the remaining updates, and of the remaining evaluations once one was made."""
        updates = (self.plan.updates - self.update) * self.seconds_per_update
        return updates + self.evaluations_left * self.evaluation


class ProgressDisplay:
    """A watcher that shows loss, examples/s, time left and the best score. A context that ends the live line."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self.live: LiveLine | None = None
        self.pace: Pace | None = None
        self.best: list[str] = []
        self.noted: set[str] = set()
        self.line_at = time.monotonic()
        self.in_rows = False  # of a file that is predicted in windows, whose own progress says less

    def __enter__(self) -> "ProgressDisplay":
        """This display."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Removes the live line, after an error too."""
        self._end()

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        match event:
            case AlreadyDone():
                self._show_done_before(event)
            case Note():
                self._show_note(event.text)
            case Started():
                self.console.print_line(f"running on {event.device}: {event.folder}")
            case Working():
                seconds = LINE_EVERY if self.pace or event.total else 0  # before the first update each step is told
                self._show(event.what, done=event.done, total=event.total, every=seconds)
            case Forecast():
                self.console.print_line(event.words)
            case Training():
                self._begin(event)
            case Updates():
                self._show_updates(event)
            case Predicted():
                if not self.in_rows:
                    self._show("predicting", done=event.done, total=event.total, facts=self.best, every=LINE_EVERY)
            case Encoded():
                self._show_rate("encoded", event, unit="a second")
            case RowsPredicted():
                self.in_rows = True
                self._show_rate("predicted rows", event, unit="rows/s")
            case EpochDone():
                self._show_epoch(event)
            case Ended():
                self._end()

    def _show_note(self, text: str) -> None:
        """Prints a note, but once where several runs have it."""
        if text not in self.noted:
            self.console.print_line(note_line(text))
        self.noted.add(text)

    def _show_done_before(self, run: AlreadyDone) -> None:
        changed = [f"{name} {run.then.get(name)} -> {n}" for name, n in run.now.items() if run.then.get(name) != n]
        versions = f"library versions differ now: {', '.join(changed)}" if changed else "library versions are the same"
        self.console.print_line(f"already done: {run.folder} ({versions}); --force runs it again")

    def _begin(self, plan: Training) -> None:
        self.pace, self.best, self.line_at = Pace(plan), [], -math.inf
        if plan.done:
            self.console.print(f"resuming after update {plan.done} of {plan.updates}")
        if self.console.is_terminal:
            self._show("training", done=plan.done, total=plan.updates)

    def _show_updates(self, updates: Updates) -> None:
        pace = self.pace
        assert pace is not None  # since Training comes before Updates
        pace.add(updates)
        facts = [f"loss {statistics.fmean(updates.losses):.3f}", f"{pace.rate:.0f} examples/s", *self.best]
        what = f"{pace.plan.unit} {updates.epoch}/{pace.plan.epochs}"
        self._show(what, done=updates.update, total=pace.plan.updates, left=pace.left, facts=facts, every=LINE_EVERY)

    def _show_rate(self, what: str, progress: Encoded | RowsPredicted, *, unit: str) -> None:
        left, facts = (progress.total - progress.done) / progress.rate, [f"{progress.rate:.0f} {unit}"]
        seconds = 0 if progress.done == progress.total else LINE_EVERY / 2
        self._show(what, done=progress.done, total=progress.total, left=left, facts=facts, every=seconds)

    def _show_epoch(self, epoch: EpochDone) -> None:
        assert self.pace is not None  # since Training comes before EpochDone
        done = epoch.result
        self.pace.end_epoch(done.epoch)
        self.best = [f"best {epoch.metrics[0].shown(epoch.best)}"]
        scores = in_words(done.scores, partial(find_metric, metrics=epoch.metrics))
        facts = [f"loss {done.loss:.3f}", scores, *self.best]
        self.console.print_line(f"{self.pace.plan.unit} {done.epoch}/{self.pace.plan.epochs}  {'  '.join(facts)}")

    def _show(
        self, what: str, *, done: int, total: int, left: float | None = None, facts: list[str] | None = None,
        every: float = 0.0,
    ) -> None:  # fmt: skip
        """Shows a step in the live line, or in a line of its own if the last one is `every` seconds ago."""
        live = self.console.is_terminal
        count = [f"{done:,}{'/' if live else ' of '}{total:,}"] * bool(total)
        ends = [] if left is None or done == total else [f"{duration(left)} left"]
        words = [what, *count, *ends, *(facts or ())] if live else [what, *count, *(facts or ()), *ends]
        if live:
            self.live = self.live or LiveLine(self.console)
            self.live.show(words, done=done, total=total)
        elif time.monotonic() - self.line_at > every:
            self.line_at = time.monotonic()
            self.console.print_line("  ".join(words))

    def _end(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None


class LiveLine:
    """A bar and what is being done, which moves during long steps too; `stop` removes it."""

    def __init__(self, console: Terminal) -> None:
        line = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        self.progress = Progress(BarColumn(BAR), line, console=console, transient=True)
        self.task = self.progress.add_task("", total=None)
        self.progress.start()

    def show(self, words: Sequence[str], *, done: int, total: int) -> None:
        """Shows a step: from left to right as many words as fit. Without a `total` the bar only moves."""
        self.progress.tasks[0].total = total or None  # which `update` takes for no change
        self.progress.update(self.task, description="  ".join(words), completed=done)

    def stop(self) -> None:
        """Removes the line."""
        self.progress.stop()
