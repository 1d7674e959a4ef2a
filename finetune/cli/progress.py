"""Progress of training and prediction on standard error: a live bar on a terminal, else lines."""

import statistics
import time
from functools import partial

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from finetune.cli.console import Terminal
from finetune.cli.run_tables import in_words
from finetune.metrics.metric import find_metric
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
)

LINE_EVERY = 20.0  # seconds between lines of progress if standard error is not a terminal


class ProgressDisplay:
    """A watcher that shows loss, examples/s, time left and the best score."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self.bar: Progress | None = None
        self.shown: TaskID | None = None
        self.plan: Training | None = None
        self.best = ""
        self.line_at = 0.0

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        match event:
            case AlreadyDone():
                self._show_done_before(event)
            case Note():
                self.console.print_line(f"note: {event.text}")
            case Started():
                self.console.print_line(f"running on {event.device}: {event.folder}")
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

    def _show_done_before(self, run: AlreadyDone) -> None:
        changed = [f"{name} {run.then.get(name)} -> {n}" for name, n in run.now.items() if run.then.get(name) != n]
        versions = f"library versions differ now: {', '.join(changed)}" if changed else "library versions are the same"
        self.console.print_line(f"already done: {run.folder} ({versions}); --force runs it again")

    def _begin(self, plan: Training) -> None:
        self.plan, self.best, self.line_at = plan, "", time.monotonic()
        if plan.done:
            self.console.print(f"resuming after update {plan.done} of {plan.updates}")
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}", markup=False),
                TextColumn("{task.fields[facts]}", markup=False),
                TimeRemainingColumn(),
                console=self.console,
            )
            self.shown = self.bar.add_task("training", total=plan.updates, completed=plan.done, facts="")
            self.bar.start()

    def _show_updates(self, some: Updates) -> None:
        plan = self.plan
        assert plan is not None  # since Training comes before Updates
        rate = len(some.losses) * plan.examples * plan.epochs / plan.updates / some.seconds
        facts = f"loss {statistics.fmean(some.losses):.3f}  {rate:.0f} examples/s{self.best}"
        label = f"epoch {some.epoch}/{plan.epochs}"
        if self.bar is not None and self.shown is not None:
            self.bar.update(self.shown, completed=some.update, description=label, facts=facts)
        elif time.monotonic() - self.line_at > LINE_EVERY:
            self.line_at = time.monotonic()
            left = (plan.updates - some.update) * some.seconds / len(some.losses)
            self.console.print(f"{label}  update {some.update}/{plan.updates}  {facts}  {left:.0f} s left")

    def _show_predicted(self, some: Predicted) -> None:
        if self.bar is not None and self.shown is not None:
            self.bar.update(self.shown, facts=f"predicting {some.done}/{some.total}{self.best}")

    def _show_encoded(self, some: Encoded) -> None:
        ended = some.done == some.total and some.rate * LINE_EVERY < some.total
        if time.monotonic() - self.line_at > LINE_EVERY / 2 or ended:
            self.line_at = time.monotonic()
            left = (some.total - some.done) / some.rate
            self.console.print(
                f"encoded {some.done:,} of {some.total:,}, {some.rate:.0f} a second, {left:.0f} s left",
            )

    def _show_rows(self, some: RowsPredicted) -> None:
        if time.monotonic() - self.line_at > LINE_EVERY / 10 or some.done == some.total:
            self.line_at = time.monotonic()
            left = f", {(some.total - some.done) / some.rate:.0f} s left" if some.total > some.done else ""
            self.console.print(f"{some.done:,} rows, {some.rate:.0f} rows/s{left}")

    def _show_epoch(self, epoch: EpochDone) -> None:
        assert self.plan is not None  # since Training comes before EpochDone
        done = epoch.result
        self.best = f"  best {epoch.metrics[0].shown(epoch.best)}"
        scores = in_words(done.scores, partial(find_metric, metrics=epoch.metrics))
        console = self.bar.console if self.bar is not None else self.console
        console.print(f"epoch {done.epoch}/{self.plan.epochs}  loss {done.loss:.3f}  {scores}{self.best}")

    def _end(self) -> None:
        """Stops the live bar, also after a failure or an interruption."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
