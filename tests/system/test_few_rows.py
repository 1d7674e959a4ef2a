"""What a user's first run does with few rows: enough updates, no choice by a few rows of dev, a linear probe."""

from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess
from support.predicted_files import written
from support.runs import REVIEWS

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.runs.events import EpochDone, Event, Training, Working, unwatched
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.task_types.resolved_run import resolved_run
from finetune.task_types.starting_recipe import starting_recipe
from finetune.training.run import run
from finetune.training.run_options import RunOptions

FAST = {"train.learning_rate": 2e-3, "max_length": 16}


def rows(count: int) -> list[tuple[str, str]]:
    return [("review", "mark"), *((f"{text} {i}", mark) for i in range(count // 80 + 1) for text, mark in REVIEWS)][
        : count + 1
    ]


def trained(data: Path, encoder: Path, out: Path, watch: Any = unwatched, **settings: Any) -> RunRecord:
    recipe, _ = starting_recipe(str(data), {"model": str(encoder), **FAST, **settings})
    return run(resolved_run(recipe), RunOptions(source=Source(), out=out), watch=watch)


@pytest.mark.parametrize(
    ("count", "size", "epochs", "select", "patience"),
    [
        (20, 8, 10, "last", None),
        (490, 8, 10, "last", None),  # 49 rows of dev
        (520, 8, 10, "best", None),
        (1_200, 16, 10, "best", 2),
        (2_400, 32, 5, "best", 2),
    ],
)
def test_the_recipe_fits_the_number_of_rows(
    count: int, size: int, epochs: int, select: str, patience: int | None, tmp_path: Path
) -> None:
    recipe, _ = starting_recipe(str(written(tmp_path / "a.csv", rows(count))), {})
    assert (recipe.train.batch_size, recipe.train.epochs) == (size, epochs)
    assert (recipe.train.select, recipe.train.patience) == (select, patience)
    assert (recipe.pooling, recipe.train.least_updates) == ("auto", 100)


def test_a_given_dev_and_limit_count(tmp_path: Path) -> None:
    few, many = (str(written(tmp_path / f"{n}.csv", rows(n))) for n in (40, 1_200))
    with_dev, _ = starting_recipe(few, {"dev": many})
    assert (with_dev.train.select, with_dev.train.patience) == ("best", None)  # two epochs are 10 updates
    limited, _ = starting_recipe(many, {"limit": 40})
    assert (limited.train.batch_size, limited.train.select) == (8, "last")


def test_each_step_before_the_first_update_is_told(tmp_path: Path, tiny_bert: Path) -> None:
    events: list[Any] = []
    data = written(tmp_path / "a.csv", rows(20))
    trained(data, tiny_bert, tmp_path / "out", events.append, **{"train.updates": 1, "train.least_updates": 0})
    first = next(place for place, event in enumerate(events) if isinstance(event, Training))
    told = [event.what for event in events[:first] if isinstance(event, Working)]
    assert told[0] == "finding the encoder's weights"
    assert {"reading rows", "loading the encoder", "computing the first update"} <= {*told}


@pytest.mark.parametrize("length", [{"train.epochs": 2}, {"train.updates": 7}])
def test_a_length_that_is_given_is_taken(length: dict[str, int], tiny_bert: Path, tmp_path: Path) -> None:
    record = trained(written(tmp_path / "a.csv", rows(40)), tiny_bert, tmp_path / "results", **length)
    assert len(record.epochs) == (2 if "train.epochs" in length else 7)


def test_few_rows_get_the_least_updates_and_are_scored_ten_times(tiny_bert: Path, tmp_path: Path) -> None:
    seen: list[Event] = []
    record = trained(written(tmp_path / "a.csv", rows(24)), tiny_bert, tmp_path / "results", seen.append)
    assert record.updates == 100
    assert record.scored_after == ("update", list(range(10, 101, 10)))
    assert record.parts == ("part", 10)
    assert sum(isinstance(event, EpochDone) for event in seen) == 10
    assert record.selected_epoch == 10


@pytest.mark.slow
def test_a_test_file_is_predicted_once_with_the_selected_weights(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = written(tmp_path / "test.csv", rows(60))
    predicted: list[int] = []
    logits = Engine.logits
    monkeypatch.setattr(Engine, "logits", lambda self, given: predicted.append(len(given)) or logits(self, given))
    settings = {"test": str(test), "train.solver": "adam"}
    record = trained(written(tmp_path / "a.csv", rows(24)), tiny_bert, tmp_path / "results", **settings)
    assert predicted.count(60) == 2  # the run and its linear probe
    assert {tuple(epoch["scores"]) for epoch in record.epochs} == {("dev",)}
    assert record.scores["test"]["accuracy"] > 0.9
    assert record.rows["test"] == 60


@pytest.mark.slow
def test_the_linear_probe_is_the_frozen_logistic_run(tiny_bert: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "a.csv", rows(60))
    probe = trained(data, tiny_bert, tmp_path / "results").baselines["dev"]["linear-probe"]
    frozen = {"frozen": True, "train.solver": "logistic", "pooling": "unit"}
    record = trained(data, tiny_bert, tmp_path / "results", **frozen)
    assert probe == record.scores["dev"]
    assert "linear-probe" not in record.baselines["dev"]


@pytest.mark.slow
def test_a_probe_is_fitted_where_there_are_few_rows_and_a_linear_layer_can_be(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = {"train.epochs": 1}
    tags = tmp_path / "tags.conll"
    tags.write_text("the O\ncat B-PET\nsat O\n\nthe O\ndog B-PET\n\n" * 10)
    number = written(
        tmp_path / "n.csv", [("text", "score"), *((f"the cat {i} sat", f"{i / 7:.2f}") for i in range(30))]
    )
    assert "linear-probe" in trained(tags, tiny_bert, tmp_path / "results", **once).baselines["dev"]
    assert "linear-probe" in trained(number, tiny_bert, tmp_path / "results", **once).baselines["dev"]
    monkeypatch.setattr("finetune.training.few_rows.FEW_ROWS", 20)
    many = trained(written(tmp_path / "a.csv", rows(40)), tiny_bert, tmp_path / "results", **once)
    assert "linear-probe" not in many.baselines["dev"]


def test_the_probe_reads_the_encoder_in_the_precision_of_the_run(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An encoder that cannot be computed in bf16 can be trained in fp32 on a machine that would choose bf16."""
    found = []

    def seen(folder: Path, head: Any, recipe: Recipe, **given: Any) -> Any:
        found.append(recipe.train.precision)
        return build_model(folder, head, recipe, **given)

    monkeypatch.setattr("finetune.training.few_rows.build_model", seen)
    data = written(tmp_path / "a.csv", rows(24))
    trained(data, tiny_bert, tmp_path / "results", **{"train.epochs": 1, "train.precision": "fp32"})
    assert set(found) == {"fp32"}


def test_the_screen_says_which_format_the_model_has(in_process: InProcess, tiny_roberta: Path, tmp_path: Path) -> None:
    data = str(written(tmp_path / "a.csv", rows(24)))
    settings = [f"model={tiny_roberta}", "max_length=16", "train.epochs=1"]
    code, out, err = in_process("run", data, *settings, data=tmp_path)
    assert code == 0, err
    assert "pooling mean" in (out + err) and "pooling=family" in (out + err)
    (own,) = tmp_path.glob("results/a.csv/*/model/finetune.safetensors")
    code, out, err = in_process("run", data, *settings, "pooling=family", data=tmp_path)
    assert code == 0, err
    assert "pooling mean" not in (out + err)
    assert len([*tmp_path.glob("results/a.csv/*/model/model.safetensors")]) == 1
    code, out, err = in_process("predict", own.parents[1].name, data, "-o", "out.csv", data=tmp_path)
    assert code == 0, err
    code, _, err = in_process("run", data, *settings, "pooling=middle", data=tmp_path)
    assert code == 2
    assert "pooling" in err


def test_pooling_and_a_bilstm_are_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="BiLSTM"):
        starting_recipe(str(written(tmp_path / "a.csv", rows(24))), {"pooling": "mean", "bilstm": True})
