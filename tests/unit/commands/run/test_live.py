"""`--live`: a page about training that is renewed, says how a run ended, and never costs a run."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import InProcess
from support.reports import read
from support.runs import REVIEWS, as_csv

from finetune.commands.run import live
from finetune.commands.run.live import LivePage
from finetune.metrics.scores import accuracy
from finetune.runs.events import Ended, EpochDone, EpochResult, Event, EventLog, Note, Started, Training, Updates
from finetune.runs.record_files import load_record

PLAN = Training(updates=40, done=0, epochs=2, examples=160)


def epoch(number: int, score: float) -> EpochDone:
    result = EpochResult(epoch=number, loss=0.5, headline=score, scores={"dev": {"accuracy": score}}, dev_loss=0.4)
    return EpochDone(result=result, best=score, metrics=(accuracy,))


def updates(last: int, loss: float, *, count: int = 10) -> Updates:
    return Updates(update=last, epoch=1 + (last > 20), losses=[loss] * count, seconds=2.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "reviews.csv" / "5f0c2d6e1a"
    made.mkdir(parents=True)
    return made


@pytest.fixture(autouse=True)
def every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event is on the page."""
    monkeypatch.setattr(live, "EVERY", 0.0)
    monkeypatch.setattr(live, "SHARE", 1e9)


def page_of(folder: Path) -> str:
    return (folder / "live.html").read_text(encoding="utf-8")


def begin(folder: Path) -> Started:
    return Started(folder=str(folder), recipe={}, device="cpu")


def test_a_page_has_losses_scores_rate_and_time_left_while_a_run_trains(folder: Path) -> None:
    seen: list[Event] = []
    with LivePage(3, then=seen.append) as page:
        given = [begin(folder), PLAN, updates(10, 0.7), updates(20, 0.5), epoch(1, 0.75), updates(30, 0.3)]
        for event in given:
            page(event)
        found = read(page_of(folder))  # which allows its own script alone
    assert [event for event in seen if not isinstance(event, Note)] == given
    for text in ("Running", "30 of 40", "40 examples/s", "2 s", "0.400", "dev accuracy 75.0", "0 of 3 runs finished"):
        assert text in found.text, text
    assert found.tags.count("svg") == 2 and "progress" in found.tags
    assert found.text.lstrip().startswith("75 % running: reviews.csv 5f0c2d6e1a\n")  # in the browser's tab


@pytest.mark.parametrize(("failure", "state"), [("out of memory", "Failed: out of memory"), ("", "Stopped: The same")])
def test_a_page_says_how_a_run_ended_and_is_renewed_no_more(folder: Path, failure: str, state: str) -> None:
    with LivePage(1, then=lambda _: None) as page:
        for event in (begin(folder), PLAN, updates(10, 0.7), Ended(failure=failure)):
            page(event)
        assert "<script>" in page_of(folder)  # another run may follow
    assert state in page_of(folder)
    assert "<script>" not in page_of(folder) and "runs finished" not in page_of(folder)


def test_a_process_that_is_interrupted_leaves_a_page_that_says_so(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), LivePage(1, then=lambda _: None) as page:
        page(begin(folder))
        page(PLAN)
        raise KeyboardInterrupt
    assert "Stopped: The same command resumes it" in page_of(folder)


def test_a_resumed_run_has_what_it_had_done_before(folder: Path) -> None:
    log = EventLog(folder / "events.jsonl", then=lambda _: None)
    for event in (begin(folder), PLAN, updates(20, 0.9, count=20), epoch(1, 0.5), updates(30, 0.1), epoch(2, 0.25)):
        log(event)
    with LivePage(1, then=lambda _: None) as page:
        again = EventLog(folder / "events.jsonl", then=page)
        for event in (begin(folder), Training(updates=40, done=20, epochs=2, examples=160), updates(30, 0.3)):
            again(event)
        losses, run = page.runs[0].losses, page.runs[0]
        assert (losses[1], losses[20], losses[21], len(losses)) == (0.9, 0.9, 0.3, 30)
        assert list(run.epochs) == [1]  # the second was after the checkpoint
        again(epoch(2, 0.75))
        assert "dev accuracy: 5f0c2d6e1a 50, 75" in page_of(folder)


def test_a_page_that_cannot_be_written_costs_a_note(folder: Path) -> None:
    seen: list[Event] = []
    with LivePage(1, then=seen.append) as page:
        page(begin(folder))
        shutil.rmtree(folder)
        for event in (PLAN, updates(10, 0.7), epoch(1, 0.5), Ended()):
            page(event)
    notes = [event.text for event in seen if isinstance(event, Note)]
    assert len(notes) == 2 and notes[1].startswith("the live page is not renewed any more (FileNotFoundError")
    assert not folder.exists()


def test_writing_takes_a_hundredth_of_the_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SHARE", 0.01)
    clock = iter(range(10_000))
    written: list[int] = []
    monkeypatch.setattr(live.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(live, "write_atomically", lambda *_: written.append(1))
    with LivePage(1, then=lambda _: None) as page:
        page(begin(folder))
        page(PLAN)
        before = len(written)
        for last in range(1, 21):
            page(updates(last, 0.7, count=1))
        assert len(written) == before  # each takes a second of this clock, so the next is due after a hundred
        page(epoch(1, 0.5))
        assert len(written) == before + 1


@pytest.fixture
def reviews(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "reviews.csv"
    file.write_text(as_csv(("review", "mark"), *REVIEWS))
    yield file


def test_runs_of_seeds_share_a_page_which_is_not_part_of_a_run(
    in_process: InProcess, reviews: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    small = ["max_length=16", "train.epochs=2", "train.batch_size=8", f"model={tiny_bert}"]
    command = ["run", "reviews.csv", *small, "--seeds", "2", "--quiet", "--live", "--device", "cpu"]
    code, _, err = in_process(*command, data="")
    assert (code, err) == (0, "")
    (file,) = tmp_path.glob("results/*/*/live.html")
    text = file.read_text(encoding="utf-8")
    assert "2 of 2 runs finished" in text and "Finished: " in text and "<script>" not in text
    records = [load_record(one) for one in tmp_path.glob("results/*/*/record.json")]
    assert all(record.id in text and "live.html" not in record.files for record in records)
    assert "finetune report results/reviews.csv/" in text


def test_runs_elsewhere_have_no_page(in_process: InProcess, reviews: Path) -> None:
    code, _, err = in_process("run", "reviews.csv", "--on", "ray", "--live", data="")
    assert code == 2
    assert "`--live` follows runs of this process, and `--on` starts others" in err
