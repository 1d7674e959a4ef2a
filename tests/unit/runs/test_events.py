"""Events are types; their log keeps the keys that reports read."""

import io
import json
from pathlib import Path

import pytest

from finetune.cli.console import Terminal
from finetune.cli.progress import ProgressDisplay
from finetune.metrics.scores import accuracy
from finetune.runs.events import (
    AlreadyDone,
    Done,
    Encoded,
    Ended,
    EpochDone,
    EpochResult,
    Event,
    EventLog,
    Note,
    Predicted,
    RowsPredicted,
    Started,
    Training,
    Updates,
    Working,
    logged_events,
    unwatched,
)

SCORES = {"dev": {"accuracy": 0.75}}
RESULT = EpochResult(epoch=1, loss=0.5, headline=0.75, scores=SCORES, dev_loss=0.25)
EPOCH = EpochDone(result=RESULT, best=0.75, metrics=(accuracy,))
CASES: list[tuple[Event, dict[str, object] | None]] = [
    (
        Started(folder="f", recipe={"task": "t"}, device="cpu"),
        {"folder": "f", "recipe": {"task": "t"}, "device": "cpu"},
    ),
    (Note("watch out"), {"text": "watch out"}),
    (
        Training(updates=4, done=0, epochs=1, examples=8),
        {"updates": 4, "done": 0, "epochs": 1, "examples": 8, "unit": "epoch"},
    ),
    (
        Updates(update=2, epoch=1, losses=[0.9, 0.8], seconds=0.1, rates=[1e-5, 2e-5]),
        {"update": 2, "epoch": 1, "losses": [0.9, 0.8], "seconds": 0.1, "rates": [1e-5, 2e-5]},
    ),
    (Predicted(done=1, total=2), None),
    (Encoded(done=1, total=2, rate=3.0), None),
    (Working("saving"), None),
    (EPOCH, {"epoch": 1, "loss": 0.5, "headline": 0.75, "scores": SCORES, "dev_loss": 0.25, "best": 0.75}),
    (
        Done(folder="f", scores=SCORES, seconds={"total": 1.0}),
        {"folder": "f", "scores": SCORES, "seconds": {"total": 1.0}},
    ),
]
NAMES = ["start", "note", "training", "updates", "epoch", "done"]


def test_the_log_keeps_the_keys_of_each_event(tmp_path: Path) -> None:
    seen: list[Event] = []
    log = EventLog(tmp_path / "events.jsonl", then=seen.append)
    for event, _ in CASES:
        log(event)
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert seen == [event for event, _ in CASES]
    assert [line.pop("event") for line in lines] == NAMES
    assert all(line.pop("time") > 0 for line in lines)
    assert lines == [facts for _, facts in CASES if facts is not None]


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([AlreadyDone(folder="f", then={"torch": "1"}, now={"torch": "2"})], "torch 1 -> 2"),
        ([Note("watch out")], "note: watch out"),
        ([Started(folder="f", recipe={}, device="cpu")], "running on cpu: f"),
        ([Training(updates=4, done=2, epochs=1, examples=8)], "resuming after update 2 of 4"),
        ([RowsPredicted(done=8, total=8, rate=2.0)], "predicted rows  8 of 8  2 rows/s"),
        ([Encoded(done=8, total=8, rate=0.1)], "encoded  8 of 8"),
        (
            [Training(updates=4, done=0, epochs=1, examples=8), EPOCH, Ended()],
            "epoch 1/1  loss 0.500  dev accuracy 75.0  best 75.0",
        ),
    ],
)
def test_the_display_shows_each_event(events: list[Event], shown: str) -> None:
    output = io.StringIO()
    console = Terminal()
    console.file, console.width = output, 200
    display = ProgressDisplay(console)
    for event in events:
        display(event)
    assert shown in output.getvalue()


def test_a_line_that_a_killed_process_did_not_finish_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    EventLog(file, then=unwatched)(Note("one"))
    with file.open("a") as opened:
        opened.write('{"time": 1.0, "event": "upda')
    EventLog(file, then=unwatched)(Note("two"))
    assert [json.loads(line)["text"] for line in file.read_text().splitlines()] == ["one", "two"]


def test_a_line_that_is_no_event_is_none_however_deep_it_is() -> None:
    assert [*logged_events(['{"event": "end", "time": 1}'])] == [{"event": "end", "time": 1}]
    for line in ('{"event": "e', "[]", "{}", "1", "", "[" * 100_000, '{"event":' * 100_000, b"\xff"):
        assert [*logged_events([line])] == []
