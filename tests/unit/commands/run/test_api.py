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
SMALL: dict[str, Any] = {"max_length": 16, "device": "cpu", "train": {"epochs": 1, "batch_size": 8}}


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small(tiny_bert: Path) -> dict[str, Any]:
    """Settings of a run of a second."""
    return SMALL | {"model": str(tiny_bert)}


@pytest.mark.slow
def test_a_frame_finds_the_run_of_its_csv_and_a_csv_that_of_a_frame_with_its_name(small: dict[str, Any]) -> None:
    FRAME.to_csv("reviews.csv", index=False)
    from_file = finetune.run("reviews.csv", **small)
    assert from_file.folder == Path("results/reviews.csv") / from_file.id
    for rows in (FRAME, pd.read_csv("reviews.csv"), FRAME.to_dict("records"), Dataset.from_pandas(FRAME)):
        found = finetune.run(rows, **small)
        assert (found.folder, found.record.finished) == (from_file.folder, from_file.record.finished)
    named = finetune.run(FRAME, name="reviews.csv", out="others", **small)
    assert finetune.run("reviews.csv", out="others", **small).record.finished == named.record.finished
    assert named.id == from_file.id
    assert finetune.load("reviews.csv", out="others").task.name == "reviews.csv"


def test_equal_frames_are_one_run_and_another_row_another(small: dict[str, Any]) -> None:
    first = finetune.run(FRAME, **small)
    assert finetune.run(FRAME.copy(), **small).record == first.record
    assert first.record.task == "data.parquet"
    other = finetune.run(FRAME.iloc[1:], **small)
    assert other.id != first.id


def test_columns_of_other_names_do_not_find_a_run_on_the_same_texts(small: dict[str, Any]) -> None:
    first = finetune.run(FRAME, name="one", **small)
    other = finetune.run(FRAME.rename(columns={"review": "body"}), **small)
    assert (first.record.data, first.record.task) == (other.record.data, "one")
    assert other.record.task == "data.parquet"


def test_a_dataset_is_the_run_of_its_parquet_file_with_the_names_of_its_classes(small: dict[str, Any]) -> None:
    kinds = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    rows = {"text": FRAME["review"].tolist(), "label": [int(mark == "good") for mark in FRAME["mark"]]}
    dataset = Dataset.from_dict(rows, features=kinds)
    dataset.to_parquet("rows.parquet")
    from_file = finetune.run("rows.parquet", **small)
    found = finetune.run(dataset, **small)
    assert found.record == from_file.record
    assert found.model.labels == ("bad", "good")
    split = finetune.run(
        DatasetDict(train=dataset.select(range(60)), validation=dataset.select(range(60, 80))), **small
    )
    assert split.record.rows == {"train": 60, "dev": 20}


def test_several_seeds_are_one_object(small: dict[str, Any]) -> None:
    run = finetune.run(FRAME, text="review", label="mark", seeds=2, **small)
    assert [one.record.recipe["seed"] for one in run.runs] == [42, 43]
    scores = run.scores
    assert list(scores.columns) == ["split", "metric", "method", "score", "sd", "low", "high", "runs"]
    assert set(scores["method"]) == {"model", "majority", "tfidf-logistic", "linear-probe"}
    ours = scores[(scores["method"] == "model") & (scores["metric"] == "accuracy")].iloc[0]
    each = [record.scores["dev"]["accuracy"] for record in run.records]
    assert (ours["score"], ours["runs"]) == (pytest.approx(sum(each) / 2), 2)
    assert set(run.baselines["method"]) == {"majority", "tfidf-logistic", "linear-probe"}
    predictions = run.predictions
    assert (set(predictions["seed"]), set(predictions["split"])) == ({42, 43}, {"dev"})
    assert len(predictions) == 2 * run.record.rows["dev"]
    opened = finetune.open_run("data.parquet", seeds=True)
    assert {one.id for one in opened.runs} == {one.id for one in run.runs}
    assert run.record.id == run.folder.name
    assert any("the data: 8 rows were held out" in note for note in run.record.notes)
    assert [note for note in run.record.notes if ".data" in note] == []


LABELLED = {
    "classification": REVIEWS,
    "multi-label": [(text, ["a: b", "c"][: 1 + (label == "good")]) for text, label in REVIEWS],
}


@pytest.mark.parametrize("task_type", LABELLED)
def test_saved_predictions_have_the_probabilities_that_predict_writes(task_type: str, small: dict[str, Any]) -> None:
    frame = pd.DataFrame(LABELLED[task_type], columns=["text", "label"])
    run = finetune.run({"train": frame, "dev": frame}, **small)
    saved, written = run.predictions, run.model.predict(frame)
    names = [name for name in written.columns if name.startswith("p(")]
    assert names == [f"p({label})" for label in run.model.labels]
    assert [name for name in saved.columns if name.startswith("p(")] == names
    assert np.allclose(saved[names], written[names], atol=1e-5)
    assert {*names} < {*run.label_errors.columns}


def test_probabilities_of_tags_stay_lists(small: dict[str, Any]) -> None:
    frame = pd.DataFrame({"tokens": [["Anna", "saw", "Rome"]] * 12, "tags": [["B-PER", "O", "B-LOC"]] * 12})
    saved = finetune.run({"train": frame, "dev": frame}, **small).predictions
    assert len(saved.loc[0, "probabilities"]) == 3
    assert not [name for name in saved.columns if name.startswith("p(")]


def test_settings_are_those_of_a_recipe(small: dict[str, Any], glue: Path) -> None:
    nested = finetune.run(FRAME, **small)
    flat = {key: value for key, value in small.items() if key != "train"}
    dotted = finetune.run(FRAME, **flat, **{"train.epochs": 1, "train.batch_size": 8})
    assert dotted.record == nested.record
    recipe = finetune.run("glue-rte", data_folder=glue, **small)
    assert (recipe.record.task, recipe.record.recipe["train"]["epochs"]) == ("rte", 1)


@pytest.fixture(scope="module")
def glue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.data import write_rte

    return write_rte(tmp_path_factory.mktemp("glue"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"label": "stars"}, "the data: has no column 'stars'"),
        ({"text": "body"}, "the data: has no column 'body'"),
        ({"epochs": 3}, "train.epochs"),
        ({"train": {"epoch": 3}}, "train.epochs"),
        ({"max_length": "x"}, "max_length"),
        ({"seeds": 0}, "seeds is 0"),
        ({"callbacks": [3]}, "callback 3"),
        ({"device": "tpu"}, "tpu"),
    ],
    ids=str,
)
def test_an_error_is_one_without_those_that_led_to_it(small: dict[str, Any], given: dict[str, Any], words: str) -> None:
    with pytest.raises(finetune.UserError) as error:
        finetune.run(FRAME, **small | given)
    assert words in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
    assert ".parquet" not in str(error.value)


@pytest.mark.parametrize("label", [None, float("nan"), "", "one"], ids=str)
def test_labels_that_cannot_be_learned_are_refused(small: dict[str, Any], label: Any) -> None:
    with pytest.raises(finetune.UserError, match="label"):
        finetune.run(FRAME.assign(mark=label), label="mark", **small)
    assert not list(Path("results").glob("*/*/record.json"))


def test_one_run_of_several_that_fails_is_a_warning(small: dict[str, Any]) -> None:
    with pytest.warns(finetune.FailedRun, match="freeze_layers"):
        run = finetune.run(FRAME, **small, grid={"freeze_layers": [0, 9]})
    assert len(run.runs) == 1


class Epochs:
    """A callback with two methods."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_epoch_done(self, event: EpochDone) -> None:
        self.seen.append(event.result.epoch)

    def on_done(self, event: finetune.events.Done) -> None:
        self.seen.append(event.folder)


def test_callbacks_receive_typed_events(small: dict[str, Any]) -> None:
    events: list[Event] = []
    epochs = Epochs()
    run = finetune.run(FRAME, **small | {"train": {"epochs": 2}}, callbacks=[events.append, epochs])
    assert epochs.seen == [1, 2, str(run.folder)]
    names = [event.name for event in events]
    first = next(name for name in names if name != "working")  # rows are encoded before, unless the cache has them
    assert first == "start" and names[-2:] == ["done", "end"]
    losses = [loss for event in events if isinstance(event, Updates) for loss in event.losses]
    assert len(losses) == 2 * -(-run.record.rows["train"] // 8)


def test_a_callback_that_fails_is_reported_and_the_run_continues(small: dict[str, Any]) -> None:
    calls = []

    def broken(event: Event) -> None:
        calls.append(event)
        raise ZeroDivisionError("no such thing")

    epochs = Epochs()
    with pytest.warns(finetune.CallbackFailed, match="ZeroDivisionError: no such thing"):
        run = finetune.run(FRAME, **small, callbacks=[broken, epochs])
    assert len(calls) == 1
    assert epochs.seen == [1, str(run.folder)]


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


def test_a_programs_own_handler_of_ctrl_c_stays(small: dict[str, Any]) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))

    def stop(event: Event) -> None:
        if isinstance(event, Updates) and not received:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        run = finetune.run(FRAME, **small, callbacks=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == [signal.SIGINT]
    assert run.scores["score"].notna().all()
