"""`finetune.run`: the runs of the command line, from rows in memory; nothing unasked for, and nothing lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from support.runs import REVIEWS

import finetune
from finetune.runs.events import EpochDone, Event, Updates

FRAME = pd.DataFrame(REVIEWS, columns=["review", "mark"])


@pytest.fixture
def small(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a run of a second in an empty folder."""
    monkeypatch.chdir(tmp_path)
    train = {"epochs": 1, "batch_size": 8}
    return {"max_length": 16, "device": "cpu", "train": train, "model": str(tiny_bert)}


def test_equal_rows_in_any_form_are_one_run_and_others_another(small: dict[str, Any]) -> None:
    FRAME.to_csv("reviews.csv", index=False)
    first = finetune.run("reviews.csv", **small)
    assert first.folder == Path("results/reviews.csv") / first.id
    for rows in (FRAME, FRAME.copy(), FRAME.to_dict("records"), Dataset.from_pandas(FRAME)):
        found = finetune.run(rows, **small)
        assert (found.folder, found.record.finished) == (first.folder, first.record.finished)
    flat = {key: value for key, value in small.items() if key != "train"}
    assert finetune.run(FRAME, **flat, **{"train.epochs": 1, "train.batch_size": 8}).record == first.record
    renamed = finetune.run(FRAME.rename(columns={"review": "body"}), **small)
    assert (renamed.record.data, renamed.record.task) == (first.record.data, "data.parquet")


def test_a_dataset_is_the_run_of_its_parquet_file_with_the_names_of_its_classes(small: dict[str, Any]) -> None:
    kinds = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    rows = {"text": FRAME["review"].tolist(), "label": [int(mark == "good") for mark in FRAME["mark"]]}
    dataset = Dataset.from_dict(rows, features=kinds)
    dataset.to_parquet("rows.parquet")
    from_file = finetune.run("rows.parquet", **small)
    found = finetune.run(dataset, **small)
    assert found.record == from_file.record and found.model.labels == ("bad", "good")
    both = DatasetDict(train=dataset.select(range(60)), validation=dataset.select(range(60, 80)))
    assert finetune.run(both, **small).record.rows == {"train": 60, "dev": 20}


def test_several_seeds_are_one_object(small: dict[str, Any]) -> None:
    run = finetune.run(FRAME, text="review", label="mark", seeds=2, **small)
    assert [one.record.recipe["seed"] for one in run.runs] == [42, 43]
    scores, baselines = run.scores, {"majority", "tfidf-logistic", "linear-probe"}
    assert list(scores.columns) == ["split", "metric", "method", "score", "sd", "low", "high", "runs"]
    assert set(scores["method"]) == {"model"} | baselines and set(run.baselines["method"]) == baselines
    ours = scores[(scores["method"] == "model") & (scores["metric"] == "accuracy")].iloc[0]
    each = [record.scores["dev"]["accuracy"] for record in run.records]
    assert (ours["score"], ours["runs"]) == (pytest.approx(sum(each) / 2), 2)
    assert run.predictions["seed"].value_counts().to_dict() == dict.fromkeys((42, 43), run.record.rows["dev"])
    assert {one.id for one in finetune.open_run(run.record.task, seeds=True).runs} == {one.id for one in run.runs}


LABELLED = {
    "classification": ([label for _, label in REVIEWS], ["bad", "good"]),
    "multi-label": ([["a: b", "c"][: 1 + (label == "good")] for _, label in REVIEWS], ["a: b", "c"]),
    "tagging": ([["B-PET" if word in ("cat", "dog") else "O" for word in text.split()] for text, _ in REVIEWS], []),
}


@pytest.mark.parametrize("task_type", LABELLED)
def test_saved_predictions_have_the_probabilities_that_predict_writes(task_type: str, small: dict[str, Any]) -> None:
    labels, names = LABELLED[task_type]
    texts = [text.split() if task_type == "tagging" else text for text, _ in REVIEWS]
    frame = pd.DataFrame({"text": texts, "label": labels})
    run = finetune.run({"train": frame, "dev": frame}, text="text", label="label", shape=task_type, **small)
    saved, written, columns = run.predictions, run.model.predict(frame), [f"p({name})" for name in names]
    assert [name for name in saved.columns if name.startswith("p(")] == columns
    assert np.allclose(saved[columns], written[columns], atol=1e-5)
    assert {*columns} <= {*run.label_errors.columns}


def test_one_run_of_several_that_fails_is_a_warning(small: dict[str, Any]) -> None:
    with pytest.warns(finetune.FailedRun, match="freeze_layers"):
        run = finetune.run(FRAME, **small, grid={"freeze_layers": [0, 9]})
    assert len(run.runs) == 1


class Epochs:
    """A callback with a method."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_epoch_done(self, event: EpochDone) -> None:
        self.seen.append(event.result.epoch)


def test_callbacks_receive_typed_events_and_one_that_fails_is_left(small: dict[str, Any]) -> None:
    events, calls, epochs = list[Event](), list[Event](), Epochs()

    def broken(event: Event) -> None:
        calls.append(event)
        raise ZeroDivisionError("no such thing")

    two = small | {"train": {"epochs": 2}}
    with pytest.warns(finetune.CallbackFailed, match="ZeroDivisionError: no such thing"):
        run = finetune.run(FRAME, **two, callbacks=[broken, events.append, epochs])
    assert (len(calls), epochs.seen) == (1, [1, 2])
    names = [event.name for event in events if event.name != "working"]
    assert (names[0], names[-2:]) == ("start", ["done", "end"])
    losses = [loss for event in events if isinstance(event, Updates) for loss in event.losses]
    assert len(losses) == 2 * -(-run.record.rows["train"] // run.record.recipe["train"]["batch_size"])


@pytest.fixture
def own_handlers() -> Iterator[list[int]]:
    """A handler of SIGTERM; that of SIGINT is Python's own, also where a shell in the background has it ignored."""
    received: list[int] = []
    handlers = {signal.SIGTERM: lambda number, _: received.append(number), signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield received
    for number, handler in before.items():
        signal.signal(number, handler)


def test_ctrl_c_saves_a_checkpoint_and_the_same_call_resumes(small: dict[str, Any], own_handlers: list[int]) -> None:
    """A program's own handler, here of SIGTERM, stays and is called."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    during: list[Any] = []

    def stop(event: Event) -> None:
        if isinstance(event, Updates) and not during:
            during.append(signal.getsignal(signal.SIGTERM))
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)

    longer = small | {"train": {"epochs": 4, "batch_size": 4, "patience": 4}}
    with pytest.raises(KeyboardInterrupt, match="with a checkpoint: the same call resumes") as stopped:
        finetune.run(FRAME, **longer, callbacks=stop)
    assert stopped.value.__suppress_context__
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert (during, own_handlers) == ([handlers[1]], [signal.SIGTERM])
    events: list[Event] = []
    run = finetune.run(FRAME, **longer, callbacks=events.append)
    assert next(event.done for event in events if isinstance(event, finetune.events.Training)) > 0
    assert len(run.record.epochs) == 4
