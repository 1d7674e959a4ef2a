"""Progress: rate and time left from this process's own updates, and a line that moves in every step."""

import io
import re

import pytest
from rich.cells import cell_len

from finetune.cli.console import Terminal
from finetune.cli.progress import Pace, ProgressDisplay
from finetune.metrics.scores import accuracy
from finetune.runs import events as run_events
from finetune.runs.events import (
    EpochDone,
    EpochResult,
    Event,
    Predicted,
    Training,
    Updates,
    Working,
)

RESULT = EpochResult(epoch=1, loss=0.5, headline=0.75, scores={"dev": {"accuracy": 0.75}})
EPOCH = EpochDone(result=RESULT, best=0.75, metrics=(accuracy,))
PLAN = Training(updates=40, done=0, epochs=2, examples=640)


def updates(update: int, seconds: float, count: int = 1, epoch: int = 1) -> Updates:
    return Updates(update=update, epoch=epoch, losses=[0.5] * count, seconds=seconds)


def test_rate_and_time_left_after_a_resume_are_of_the_updates_made_since() -> None:
    pace = Pace(Training(updates=100, done=90, epochs=1, examples=3_200))
    pace.add(updates(91, 2.0))
    assert (pace.left, pace.rate) == (pytest.approx(18.0), pytest.approx(16.0))
    pace.add(updates(95, 2.0, count=4))
    assert pace.left == pytest.approx(5 * 0.8)


def test_an_evaluation_counts_once_its_time_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 4.0, 5.0])
    monkeypatch.setattr(run_events.time, "monotonic", lambda: next(now))
    pace = Pace(Training(updates=20, done=0, epochs=2, examples=320))
    left = []
    for after in (lambda: pace.add(updates(10, 1.0, count=10)), lambda: pace.end_epoch(1)):
        after()
        left.append(pace.left)
    pace.add(updates(20, 1.0, count=10, epoch=2))
    assert [*left, pace.left] == pytest.approx([1.0, 4.0, 3.0])


def shown(events: list[Event], width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines drawn on a terminal of that width, or of 0 where there is none."""
    if width:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    console = Terminal()
    console.file, console.width = io.StringIO(), width or 80
    with ProgressDisplay(console) as display:
        for event in events:
            display(event)
            if display.live is not None:
                display.live.progress.refresh()
    assert display.live is None
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    return [line.rstrip() for line in re.split(r"[\r\n]+", text) if line.strip()]


@pytest.mark.parametrize("width", [40, 60, 120])
def test_a_terminal_shows_time_left_from_the_first_update_on_and_every_step(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [Working("encoding rows", 1, 4), PLAN, updates(1, 0.5), Predicted(done=5, total=9), Working("scoring dev")]
    lines = shown([*steps, EPOCH, updates(40, 1.0, count=39, epoch=2), Working("saving the model")], width, monkeypatch)
    text = "\n".join(lines)
    assert max(map(cell_len, lines)) <= max(width, 60)  # the result of an epoch is not cut
    for words in ("encoding rows  1/4", "predicting  5/9", "scoring dev", "saving the model", "accuracy 75.0"):
        assert words in text
    assert re.search(r"epoch 1/2  1/40  (19|20) s left", text)
    assert ("examples/s" in text) == (width >= 60)
