"""Settings of optimizer, schedule and unfreezing that go together, and those that are refused."""

from typing import Any

import pytest

from finetune.errors import UserError
from finetune.runs.recipe import parse


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train": {"momentum": 0.5}}, "train.solver adam"),
        ({"train": {"solver": "sgd", "adam_epsilon": 1e-8}}, "train.adam_epsilon 1e-08"),
        ({"train": {"solver": "radam", "bias_correction": False}}, "train.solver radam"),
        ({"train": {"noam_factor": 0.1}}, "train.schedule=noam"),
        ({"train": {"slant_ratio": 10.0}}, "train.schedule=slanted_triangular"),
        ({"train": {"schedule": "noam", "warmup": 0.0}}, "train.warmup above 0"),
        ({"train": {"schedule": "noam", "learning_rate": 1e-4}}, "train.noam_factor"),
        ({"train": {"unfreeze_layers": 1}, "frozen": True}, "frozen"),
        ({"train": {"unfreeze_layers": 1, "solver": "logistic"}, "frozen": True}, "frozen"),
        ({"train": {"unfreeze_layers": 1, "solver": "contrastive"}}, "train.solver contrastive"),
        ({"train": {"solver": "adamw"}}, "adam, radam, sgd"),
        ({"train": {"schedule": "slanted"}}, "noam, slanted_triangular"),
        ({"train": {"momentum": 1.0, "solver": "sgd"}}, "momentum"),
        ({"train": {"slant_ratio": 0.5, "schedule": "slanted_triangular"}}, "at least 1"),
    ],
)
def test_what_would_do_nothing_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse({"task": "rte", **settings}, origin="recipe")


@pytest.mark.parametrize(
    "settings",
    [
        {"train": {"solver": "sgd", "momentum": 0.0, "layer_decay": 0.5}},
        {"train": {"solver": "radam", "adam_epsilon": 1e-8}, "lora": 4},
        {"train": {"schedule": "noam", "noam_factor": 0.1, "solver": "sgd"}},
        {"train": {"unfreeze_layers": 2, "gradient_checkpointing": True}, "freeze_layers": 1},
        {"train": {"solver": "sgd"}, "keep_labels": True},
        {"train": {"solver": "radam"}, "distil": {"teacher": "a-run"}},
        {"grid": {"train.solver": ["adam", "sgd"]}, "train": {"momentum": 0.5}},  # each point is checked
    ],
)
def test_what_goes_together_is_taken(settings: dict[str, Any]) -> None:
    parse({"task": "rte", **settings}, origin="recipe")
