"""Progress of training and prediction on standard error: a live bar on a terminal, else lines."""

import statistics
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from finetune.cli.run_tables import in_words
from finetune.metrics.scores import Scores

LINE_EVERY = 20.0  # seconds between lines of progress where standard error is no terminal


class ProgressDisplay:
    """A watcher that shows loss, examples/s, time left and the best score; a live bar on a terminal, else lines."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self.shown: TaskID | None = None
        self.plan: dict[str, Any] = {}
        self.best = ""
        self.line_at = 0.0

    def __call__(self, event: str, **facts: Any) -> None:
        """Shows one event."""
        handle = getattr(self, f"_on_{event.replace(' ', '_')}", None)
        if handle is not None:
            handle(**facts)

    def _on_already_done(self, *, folder: str, then: dict[str, str], now: dict[str, str]) -> None:
        changed = [f"{name} {then.get(name)} -> {now[name]}" for name in now if then.get(name) != now[name]]
        versions = f"library versions differ now: {', '.join(changed)}" if changed else "library versions are the same"
        self.console.print(f"already done: {folder} ({versions}); --force runs it anew", soft_wrap=True)

    def _on_note(self, *, text: str) -> None:
        self.console.print(f"note: {text}", soft_wrap=True)

    def _on_start(self, *, folder: str, device: str, **_: Any) -> None:
        self.console.print(f"running on {device}: {folder}", soft_wrap=True)

    def _on_training(self, **plan: Any) -> None:
        self.plan, self.best, self.line_at = plan, "", time.monotonic()
        if plan["done"]:
            self.console.print(f"resuming after update {plan['done']} of {plan['updates']}")
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}", markup=False),
                TextColumn("{task.fields[facts]}", markup=False),
                TimeRemainingColumn(),
                console=self.console,
            )
            self.shown = self.bar.add_task("training", total=plan["updates"], completed=plan["done"], facts="")
            self.bar.start()

    def _on_updates(self, *, update: int, epoch: int, losses: Sequence[float], seconds: float) -> None:
        examples = len(losses) * self.plan["examples"] * self.plan["epochs"] / self.plan["updates"]
        rate = examples / seconds
        facts = f"loss {statistics.fmean(losses):.3f}  {rate:.0f} examples/s{self.best}"
        label = f"epoch {epoch}/{self.plan['epochs']}"
        if self.bar is not None and self.shown is not None:
            self.bar.update(self.shown, completed=update, description=label, facts=facts)
        elif time.monotonic() - self.line_at > LINE_EVERY:
            self.line_at = time.monotonic()
            left = (self.plan["updates"] - update) * seconds / len(losses)
            self.console.print(f"{label}  update {update}/{self.plan['updates']}  {facts}  {left:.0f} s left")

    def _on_predicted(self, *, done: int, total: int) -> None:
        if self.bar is not None and self.shown is not None:
            self.bar.update(self.shown, facts=f"predicting {done}/{total}{self.best}")

    def _on_encoded(self, *, done: int, total: int, rate: float) -> None:
        if time.monotonic() - self.line_at > LINE_EVERY / 2 or (done == total and rate * LINE_EVERY < total):
            self.line_at = time.monotonic()
            self.console.print(
                f"encoded {done:,} of {total:,}, {rate:.0f} a second, {(total - done) / rate:.0f} s left",
            )

    def _on_answered(self, *, done: int, total: int, rate: float) -> None:
        if time.monotonic() - self.line_at > LINE_EVERY / 10 or done == total:
            self.line_at = time.monotonic()
            left = f", {(total - done) / rate:.0f} s left" if total > done else ""
            self.console.print(f"{done:,} rows, {rate:.0f} rows/s{left}")

    def _on_epoch(self, *, epoch: int, loss: float, scores: Scores, best: float, **_: Any) -> None:
        self.best = f"  best {100 * best:.1f}"
        console = self.bar.console if self.bar is not None else self.console
        console.print(f"epoch {epoch}/{self.plan['epochs']}  loss {loss:.3f}  {in_words(scores)}{self.best}")

    def _on_end(self) -> None:
        """Ends a live bar, also when a run failed or was interrupted."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
