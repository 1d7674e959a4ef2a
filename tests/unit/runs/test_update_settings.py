"""Settings of optimizer and schedule that go together, and those that are refused."""

from pathlib import Path
from typing import Any

import pytest

from finetune.errors import UserError
from finetune.runs.recipe import parse
from finetune.training.targets import load_target


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train": {"solver": "radam", "bias_correction": False}}, "train.solver radam"),
        ({"train": {"noam_factor": 0.1}}, "train.schedule=noam"),
        ({"train": {"schedule": "noam", "warmup": 0.0}}, "train.warmup above 0"),
        ({"train": {"schedule": "noam", "learning_rate": 1e-4}}, "leave it out, or set train.schedule=linear"),
        ({"train": {"solver": "sgd"}}, "'sgd' was taken out"),
        ({"train": {"schedule": "slanted_triangular"}}, "'slanted_triangular' was taken out"),
        ({"train": {"solver": "adamw"}}, "adam, radam, logistic"),
        ({"train": {"schedule": "slanted"}}, "inverse_sqrt, noam"),
    ],
)
def test_what_would_do_nothing_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse({"task": "rte", **settings}, origin="recipe")


@pytest.mark.parametrize(
    "settings",
    [
        {"train": {"solver": "radam", "adam_epsilon": 1e-8}, "lora": 4},
        {"train": {"schedule": "noam", "noam_factor": 0.1, "solver": "radam"}},
        {"train": {"solver": "radam"}, "distil": {"teacher": "a-run"}},
        {"grid": {"train.solver": ["adam", "radam"]}, "train": {"bias_correction": False}},  # each point is checked
    ],
)
def test_what_goes_together_is_taken(settings: dict[str, Any]) -> None:
    parse({"task": "rte", **settings}, origin="recipe")


@pytest.mark.parametrize("target", ["reviews.csv", "quickstart", "conll-2003"])
@pytest.mark.parametrize(
    ("typed", "unread"),
    [
        ({"train.schedule": "noam"}, "learning_rate"),
        ({"train.schedule": "noam", "preset": "stable"}, "learning_rate"),
        ({"train.solver": "radam", "preset": "historical"}, "bias_correction"),
    ],
)
def test_what_nobody_typed_and_nothing_reads_any_more_is_left_out(
    target: str, typed: dict[str, Any], unread: str, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reviews.parents[2])
    recipe = load_target(target, typed).recipe
    assert unread not in recipe.train.model_fields_set
    with pytest.raises(UserError, match=f"train.{unread}"):
        load_target(target, {**typed, f"train.{unread}": {"learning_rate": 1e-4}.get(unread, False)})
