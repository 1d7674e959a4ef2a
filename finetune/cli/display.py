"""What the command line shows: progress of a run on standard error, records and lists on standard output."""

import os
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from finetune.analysis.published import beside
from finetune.cli.terminal import printable
from finetune.metrics.scores import Scores, plain_metrics
from finetune.metrics.squad import normalised
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
from finetune.runs.record import RunRecord

PIPED_WIDTH = 300  # characters
LINE_EVERY = 20.0  # seconds between lines of progress where standard error is no terminal


class Terminal(Console):
    """A console that takes no text for markup, an emoji's name or a command; what has a style is a `Text`."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """As Console has it: every string goes through here, those in tables too."""
        return super().render_str(printable(text), **options)


def standard_output() -> Terminal:
    """Where results are printed. What is piped is cut at no terminal's width."""
    console = Terminal()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def standard_error() -> Terminal:
    """Where progress and notes are printed."""
    return Terminal(stderr=True)


class ProgressDisplay:
    """A watcher that shows loss, examples/s, time left and the best score; a live bar on a terminal, else lines."""

    def __init__(self, console: Console) -> None:
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
                self.console.print(f"note: {event.text}", soft_wrap=True)
            case Started():
                self.console.print(f"running on {event.device}: {event.folder}", soft_wrap=True)
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
        changed = [
            f"{name} {run.then.get(name)} -> {now}" for name, now in run.now.items() if run.then.get(name) != now
        ]
        versions = f"library versions differ now: {', '.join(changed)}" if changed else "library versions are the same"
        self.console.print(f"already done: {run.folder} ({versions}); --force runs it anew", soft_wrap=True)

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
        assert plan is not None  # since updates follow the beginning of training
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
        assert self.plan is not None  # since an epoch follows the beginning of training
        done = epoch.result
        self.best = f"  best {100 * epoch.best:.1f}"
        console = self.bar.console if self.bar is not None else self.console
        console.print(
            f"epoch {done.epoch}/{self.plan.epochs}  loss {done.loss:.3f}  {in_words(done.scores)}{self.best}"
        )

    def _end(self) -> None:
        """Ends a live bar, also when a run failed or was interrupted."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def in_words(scores: Scores) -> str:
    """`dev f1 84.3, accuracy 77.0`; without the scores of groups."""
    return "  ".join(
        f"{split} " + ", ".join(f"{metric} {100 * metrics[metric]:.1f}" for metric in plain_metrics(metrics))
        for split, metrics in scores.items()
    )


def prediction_words(facts: Mapping[str, Any]) -> str:
    """What `finetune predict` did, in a few lines."""
    lines = [f"{facts['rows']:,} rows in {facts['seconds']:.1f} s -> {facts['output']}"]
    if facts["errors"]:
        lines.append(f"{facts['errors']:,} rows could not be answered: the column `error` says why")
    lines += [f"note: {note}" for note in facts["notes"]]
    scores: dict[str, float] = facts["scores"]
    if scores:
        lines.append(", ".join(f"{name} {100 * scores[name]:.1f}" for name in plain_metrics(scores)))
        groups = dict.fromkeys(name.rpartition("/")[0] for name in scores if "/" in name)
        lines += [
            f"  {group}: "
            + ", ".join(
                f"{n.rpartition('/')[2]} {100 * v:.1f}" for n, v in scores.items() if n.rpartition("/")[0] == group
            )
            for group in groups
        ]
    return "\n".join(lines)


def record_table(record: RunRecord) -> Table:
    """A run's scores beside its baselines and what was published for the same model and split."""
    table = Table(title=f"{record.task}, run {record.id} ({record.model})", title_justify="left")
    metrics = plain_metrics(next(iter(record.scores.values())))
    for column in ("split", "method", *metrics):
        table.add_column(column, justify="left" if column in ("split", "method") else "right")
    for split, scores in record.scores.items():
        table.add_row(split, "this run", *(Text(f"{100 * scores[metric]:.1f}", "bold") for metric in metrics))
        for method, given in record.baselines[split].items():
            table.add_row(split, method, *(f"{100 * given[metric]:.1f}" for metric in metrics))
        for anchor in beside(record, split):
            cells = (f"{100 * anchor.score:.1f}" if metric == anchor.metric else "" for metric in metrics)
            table.add_row(split, f"published: {anchor.source}", *cells)
    return table


def groups_table(record: RunRecord) -> Table | None:
    """A run's scores by group, such as types of entities; None where its task has no groups."""
    table = Table(title="by group", title_justify="left")
    named = [name.rsplit("/", 1) for name in next(iter(record.scores.values())) if "/" in name]
    groups, metrics = list(dict.fromkeys(g for g, _ in named)), list(dict.fromkeys(m for _, m in named))
    for column in ("split", "group", *metrics):
        table.add_column(column, justify="left" if column in ("split", "group") else "right")
    for split, scores in record.scores.items():
        for group in groups:
            table.add_row(split, group, *(f"{100 * scores[f'{group}/{metric}']:.1f}" for metric in metrics))
    return table if groups else None


def runs_table(records: Iterable[RunRecord]) -> Table:
    """A line a run."""
    table = Table(title="runs", title_justify="left")
    for column in ("task", "id", "model", "seed", "score", "finished"):
        table.add_column(column)
    for record in records:
        split = next(iter(record.scores))
        score = f"{record.headline} {100 * record.scores[split][record.headline]:.1f}"
        table.add_row(record.task, record.id, record.model, str(record.recipe["seed"]), score, record.finished)
    return table


def facts_table(title: str, facts: dict[str, Any]) -> Table:
    """Names and values, for `check` and `show`."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, [], {}):
            table.add_row(name, plain(value))
    return table


def predictions_table(lines: Sequence[dict[str, Any]]) -> Table:
    """Predictions, the wrong ones marked."""
    table = Table(show_lines=True)
    columns = [
        name for name in lines[0] if not name.startswith("baseline:") and any(line[name] is not None for line in lines)
    ]
    for column in ("", *columns):
        table.add_column(column, overflow="fold")
    for line in lines:
        table.add_row(Text("x", "red") if _wrong(line) else "", *(plain(line[column]) for column in columns))
    return table


def _wrong(line: dict[str, Any]) -> bool:
    """Whether an answer is none of the golds; texts may differ as SQuAD's exact match lets them."""
    if line["gold"] is None or isinstance(line["gold"], float):
        return False
    if "answers" not in line:
        return bool(line["gold"] != line["answer"])
    return normalised(line["answer"]) not in [normalised(gold) for gold in line["answers"] or [""]]


def plain(value: Any) -> str:
    """A value in words."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(inner) for inner in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
