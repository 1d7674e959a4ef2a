"""What a run tells before it trains: the trial changes nothing, and what is said to fit does."""

from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.predicted_files import written
from support.runs import REVIEWS

import finetune
from finetune.errors import UserError
from finetune.runs.events import Event, Forecast, Note, Training, unwatched
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.recipe import Train
from finetune.training import run as training_run
from finetune.training.forecast import require_time

ROWS = [("review", "mark"), *REVIEWS]


@pytest.fixture
def small(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A file of 80 rows in an empty folder, and settings of a run of a second."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.csv", ROWS)
    return {"model": str(tiny_bert), "max_length": 16, "device": "cpu", "train": {"learning_rate": 2e-3, "epochs": 2}}


def test_the_trial_changes_neither_predictions_nor_scores(
    small: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Event] = []
    tried = finetune.run("a.csv", out="tried", callbacks=seen.append, **small)
    monkeypatch.setattr(training_run, "forecast", lambda *_, **__: None)
    plain = finetune.run("a.csv", out="plain", **small)
    assert tried.record.scores == plain.record.scores and tried.record.epochs == plain.record.epochs
    lines = [[*read_predictions(RunFolder(run.folder).predictions("dev"))] for run in (tried, plain)]
    assert lines[0] == lines[1]
    (told,) = (event for event in seen if isinstance(event, Forecast))
    assert seen.index(told) < next(place for place, event in enumerate(seen) if isinstance(event, Training))
    assert told.parts == 2 and told.seconds > 2 * told.seconds_of_part > 0
    assert told.peak_memory_bytes > 1e8 and told.metric == "macro f1"
    assert told.score is not None and 0 <= told.score[0] < told.score[1] <= 1


def told(seconds: float, parts: int) -> Forecast:
    """A run of so many seconds, of which 10 are for reading and saving."""
    each = (seconds - 10) / parts
    return Forecast(seconds=seconds, seconds_of_part=each, parts=parts, stops_early=False, peak_memory_bytes=1)


@pytest.mark.parametrize(
    ("forecast", "train", "minutes", "advice"),
    [
        (told(610, 10), Train(epochs=10), 5, "train.epochs=4,"),
        (told(610, 10), Train(updates=1_000), 5, "train.updates=483,"),
        (told(610, 2), Train(epochs=2), 1, "train.epochs=1 limit=166,"),
        (told(610, 2), Train(epochs=2), 0.1, "Raise `max_minutes`"),
    ],
)
def test_what_is_said_to_fit_takes_no_longer(forecast: Forecast, train: Train, minutes: float, advice: str) -> None:
    require_time(forecast, 20, train, 1_000, unwatched)
    with pytest.raises(UserError, match=r"about 10:10") as error:
        require_time(forecast, minutes, train, 1_000, unwatched)
    assert advice in error.value.way_out


def test_a_note_says_where_nothing_tells_the_time() -> None:
    seen: list[Event] = []
    require_time(None, 1, Train(), 1_000, seen.append)
    (note,) = seen
    assert isinstance(note, Note) and "`max_minutes` does not apply" in note.text


def test_a_run_that_takes_too_long_ends_with_2_before_it_trains(small: dict[str, Any], in_process: InProcess) -> None:
    arguments = [f"{key}={value}" for key, value in small.items() if key not in ("train", "device")]
    code, out, err = in_process("run", "a.csv", "--max-minutes", "0.001", *arguments, data="")
    assert (code, out) == (2, "") and "epoch" not in err.splitlines()[-1]
    assert_error(err, "--max-minutes")
    assert not [*Path("results").glob("*/*/record.json")]


@pytest.mark.parametrize("minutes", [-1.0, float("nan")])
def test_minutes_that_are_none_are_refused_before_anything_is_read(minutes: float) -> None:
    with pytest.raises(UserError, match="max_minutes"):
        finetune.run("a.csv", max_minutes=minutes)


def test_check_tells_it_too_but_not_of_data_with_an_error(small: dict[str, Any], in_process: InProcess) -> None:
    arguments = [f"{key}={value}" for key, value in small.items() if key not in ("train", "device")]
    code, out, _ = in_process("check", "a.csv", *arguments, data="")
    assert code == 0 and "a run: about " in out and "GB of memory; macro f1 " in out
    written(Path("b.csv"), [("review", "mark"), *(("same", "good"), ("same", "bad")) * 20])
    code, out, _ = in_process("check", "b.csv", *arguments, data="")
    assert code == 1 and "a run: about" not in out
