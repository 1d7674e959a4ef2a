"""Progress of training and prediction on standard error: a live line on a terminal, else a line now and then."""

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from rich.cells import cell_len
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.text import Text

from finetune.cli.console import Terminal, standard_error
from finetune.cli.options import note_line
from finetune.metrics.metric import find_metric
from finetune.metrics.scores import in_words
from finetune.runs.events import (
    AlreadyDone,
    Encoded,
    Ended,
    EpochDone,
    Event,
    Note,
    Predicted,
    RowsPredicted,
    Started,
    Training,
    Updates,
    Watcher,
    Working,
    unwatched,
)
from finetune.runs.pace import Pace, duration

BAR = 12  # characters
LINE_EVERY = 20.0  # seconds between lines of progress if standard error is not a terminal


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watcher]:
    """The watcher of a command: a display on standard error, or with `--quiet` one that shows nothing."""
    if quiet:
        yield unwatched
        return
    with ProgressDisplay(standard_error()) as display:
        yield display


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
                every = LINE_EVERY if self.pace or event.total else 0  # before the first update each step is told
                self._show(event.what, done=event.done, total=event.total, every=every)
            case Training():
                self._begin(event)
            case Updates():
                self._show_updates(event)
            case Predicted():
                self._show_predicted(event)
            case Encoded():
                self._show_encoded(event)
            case RowsPredicted():
                self._show_rows(event)
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

    def _show_updates(self, some: Updates) -> None:
        pace = self.pace
        assert pace is not None  # since Training comes before Updates
        pace.add(some)
        facts = [f"loss {statistics.fmean(some.losses):.3f}", f"{pace.rate:.0f} examples/s", *self.best]
        what = f"{pace.plan.unit} {some.epoch}/{pace.plan.epochs}"
        self._show(what, done=some.update, total=pace.plan.updates, left=pace.left, facts=facts, every=LINE_EVERY)

    def _show_predicted(self, some: Predicted) -> None:
        if not self.in_rows:
            self._show("predicting", done=some.done, total=some.total, facts=self.best, every=LINE_EVERY)

    def _show_encoded(self, some: Encoded) -> None:
        ended = some.done == some.total and some.rate * LINE_EVERY < some.total
        left, facts = (some.total - some.done) / some.rate, [f"{some.rate:.0f} a second"]
        every = 0 if ended else LINE_EVERY / 2
        self._show("encoded", done=some.done, total=some.total, left=left, facts=facts, every=every)

    def _show_rows(self, some: RowsPredicted) -> None:
        self.in_rows = True
        left, facts = (some.total - some.done) / some.rate, [f"{some.rate:.0f} rows/s"]
        every = 0 if some.done == some.total else LINE_EVERY / 10
        self._show("predicted rows", done=some.done, total=some.total, left=left, facts=facts, every=every)

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
        if self.console.is_terminal:
            self.live = self.live or LiveLine(self.console)
            self.live.show(what, done=done, total=total, left=left, facts=facts or ())
        elif time.monotonic() - self.line_at > every:
            self.line_at = time.monotonic()
            words = [what, *[f"{done:,} of {total:,}"] * bool(total), *(facts or ())]
            if left is not None and done < total:
                words.append(f"{duration(left)} left")
            self.console.print_line("  ".join(words))

    def _end(self) -> None:
        """Removes the live line, also after a failure or an interruption."""
        if self.live is not None:
            self.live.stop()
            self.live = None


class LiveLine:
    """A bar and what is being done, which moves during long steps too. `show` starts it; `stop` removes it."""

    def __init__(self, console: Terminal) -> None:
        room = console.width - BAR - 2
        self.progress = Progress(BarColumn(BAR), _Words(room), console=console, transient=True)
        self.task = self.progress.add_task("", total=None, facts=(), ends=None)
        self.progress.start()

    def show(
        self, what: str, *, done: int = 0, total: int = 0, left: float | None = None, facts: Sequence[str] = ()
    ) -> None:
        """Shows a step. Without a `total` the bar only moves; `left` are seconds, which are counted down."""
        ends = None if left is None else time.monotonic() + left
        self.progress.tasks[0].total = total or None  # which `update` takes for no change
        self.progress.update(self.task, description=what, completed=done, ends=ends, facts=tuple(facts))

    def stop(self) -> None:
        """Removes the line."""
        self.progress.stop()


class _Words(ProgressColumn):
    """`epoch 1/3  12/345  2:05 left  loss 0.693`: from left to right as many words as fit."""

    def __init__(self, room: int) -> None:
        self.room = room
        super().__init__()

    def render(self, task: Task) -> Text:
        """The words of a step."""
        words = [] if task.total is None else [f"{int(task.completed):,}/{int(task.total):,}"]
        if (ends := task.fields["ends"]) is not None:
            words.append(f"{duration(ends - time.monotonic())} left")
        line = task.description
        for word in (*words, *task.fields["facts"]):
            if cell_len(f"{line}  {word}") <= self.room:
                line = f"{line}  {word}"
        return Text(line, no_wrap=True)
