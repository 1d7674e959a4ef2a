"""A line of progress on a terminal that is drawn again several times a second, so that it moves during long steps."""

import time
from collections.abc import Sequence

from rich.cells import cell_len
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.text import Text

from finetune.cli.console import Terminal
from finetune.runs.pace import duration

BAR = 12  # characters


class LiveLine:
    """A bar and what is being done. `show` starts it; `stop` removes it."""

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
