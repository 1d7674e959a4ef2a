"""Progress: rate and time left from this process's own updates, and a line that moves in every step."""

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.cli import Finetune, InProcess
from support.runs import FAST, REVIEWS, as_csv

from finetune.api.progress import ProgressBar
from finetune.cli.console import Terminal
from finetune.cli.progress import Pace, ProgressDisplay
from finetune.errors import UserError
from finetune.metrics.scores import accuracy
from finetune.runs import events as run_events
from finetune.runs.events import (
    Ended,
    EpochDone,
    EpochResult,
    Event,
    Note,
    Predicted,
    RowsPredicted,
    Training,
    Updates,
    Working,
    duration,
)

EPOCH = EpochDone(
    result=EpochResult(epoch=1, loss=0.5, headline=0.75, scores={"dev": {"accuracy": 0.75}}),
    best=0.75,
    metrics=(accuracy,),
)


def updates(update: int, seconds: float, count: int = 1, epoch: int = 1) -> Updates:
    return Updates(update=update, epoch=epoch, losses=[0.5] * count, seconds=seconds)


def test_rate_and_time_left_after_a_resume_are_of_the_updates_made_since() -> None:
    pace = Pace(Training(updates=100, done=90, epochs=1, examples=3_200))
    pace.add(updates(91, 2.0))
    assert pace.left == pytest.approx(18.0)
    assert pace.rate == pytest.approx(16.0)
    pace.add(updates(95, 2.0, count=4))
    assert pace.left == pytest.approx(5 * 0.8)


def test_an_evaluation_counts_once_its_time_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 4.0, 5.0])
    monkeypatch.setattr(run_events.time, "monotonic", lambda: next(now))
    pace = Pace(Training(updates=20, done=0, epochs=2, examples=320))
    pace.add(updates(10, 1.0, count=10))
    assert pace.left == pytest.approx(1.0)
    pace.end_epoch(1)
    assert pace.left == pytest.approx(1.0 + 3.0)
    pace.add(updates(20, 1.0, count=10, epoch=2))
    assert pace.left == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59, "59 s"), (61, "1:01"), (3_661, "1:01:01"), (-3, "0 s")]
)
def test_a_duration_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def shown(events: list[Event], width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines drawn on a terminal of that width."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console = Terminal()
    console.file, console.width = io.StringIO(), width
    display = ProgressDisplay(console)
    for event in events:
        display(event)
        if display.live is not None:
            display.live.progress.refresh()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    assert display.live is None
    return [line.rstrip() for line in re.split(r"[\r\n]+", text) if line.strip()]


PLAN = Training(updates=40, done=0, epochs=2, examples=640)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_terminal_shows_time_left_from_the_first_update_on_and_every_step(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        Working("encoding rows", 1, 4),
        PLAN,
        updates(1, 0.5),
        Predicted(done=5, total=9),
        Working("scoring dev"),
        EPOCH,
    ]
    steps += [updates(40, 1.0, count=39, epoch=2), Working("saving the model"), Ended()]
    lines = shown(steps, width, monkeypatch)
    text = "\n".join(lines)
    assert max(map(cell_len, lines)) <= max(width, 60)  # the result of an epoch is not cut
    for words in ("encoding rows  1/4", "predicting  5/9", "scoring dev", "saving the model"):
        assert words in text
    assert re.search(r"epoch 1/2  1/40  (19|20) s left", text)
    assert not re.search(r"(scoring dev|saving the model)  \d", text), "a step without parts shows no count"
    assert ("examples/s" in text) == (width >= 60)


def test_without_a_terminal_each_step_before_the_first_update_has_a_line() -> None:
    console = Terminal()
    console.file = io.StringIO()
    steps = [Working("reading rows"), Working("loading the encoder"), PLAN, updates(1, 0.5), Working("scoring dev")]
    with ProgressDisplay(console) as display:
        for step in steps:
            display(step)
    told = console.file.getvalue()
    assert "reading rows\nloading the encoder\n" in told
    assert "scoring dev" not in told


def test_rows_of_a_file_are_not_replaced_by_those_of_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(
        [RowsPredicted(done=64, total=999, rate=10.0), Predicted(done=1, total=128), Ended()], 80, monkeypatch
    )
    assert "predicted rows  64/999  1:3" in "\n".join(lines)
    assert "1/128" not in "\n".join(lines)


def test_a_log_has_time_left_in_its_first_line_of_training(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [(f"the cat sat {i}", "ab"[i % 2]) for i in range(40)]
    (tmp_path / "reviews.csv").write_text(as_csv(("review", "mark"), *rows))
    settings = [f"{name}={value}" for name, value in (FAST | {"train.epochs": 1}).items()]
    done = here("run", "reviews.csv", f"model={tiny_bert}", *settings)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^epoch 1/1  1 of \d+  loss .* examples/s  \d+ s left$", done.stderr, re.MULTILINE), done.stderr
    last = done.stdout.splitlines()
    head = last.index("next:")
    verdict = last.index("")
    assert last[head + 1].startswith("  finetune predict ")
    assert " than " in last[verdict + 1]
    assert last[verdict + 2].startswith("  Dev macro f1 is ") and "95 %" in last[verdict + 2]
    assert 24 <= len(last) <= 32
    assert done.stderr.index("to beat, macro f1 on") < done.stderr.index("epoch 1/1")


def test_a_note_that_several_runs_have_is_shown_once() -> None:
    console = Terminal()
    console.file = text = io.StringIO()
    display = ProgressDisplay(console)
    for note in ("the same", "first", "the same", "second"):
        display(Note(note))
    assert text.getvalue().split("\n")[:-1] == ["note: the same", "note: first", "note: second"]


def test_python_shows_a_bar_with_the_last_score_and_closes_it(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    for event in (PLAN, updates(1, 0.5), EPOCH, updates(40, 1.0, count=39, epoch=2)):
        bar(event)
    assert (bar.bar.n, bar.bar.total) == (40, 40)
    bar(Ended())
    assert bar.bar is None
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "40/40" in last and "accuracy" in last and "finished" in last


@pytest.mark.parametrize(
    ("command", "trains"), [("run", "training.run_many.run_all"), ("search", "commands.search.study.execute_search")]
)
def test_the_live_line_of_a_sweep_is_removed_before_anything_is_printed(
    command: str, trains: str, in_process: InProcess, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after an error."""
    displays: list[ProgressDisplay] = []

    def sweep(*_: object, watch: ProgressDisplay, **__: object) -> None:
        displays.append(watch)
        watch(Working(what="runs", done=1, total=2))
        assert watch.live is not None
        raise UserError("it broke", "Fix it")

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(f"finetune.{trains}", sweep)
    (tmp_path / "reviews.csv").write_text(as_csv(("text", "label"), *REVIEWS))
    code, _, err = in_process(command, "reviews.csv", f"model={tiny_bert}", data="")
    assert (code, "it broke" in err) == (2, True)
    assert [display.live for display in displays] == [None]
