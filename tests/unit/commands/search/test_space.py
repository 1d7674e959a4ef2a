"""Spaces of searches: what they hold, and what is wrong with one."""

import math
import tomllib
from pathlib import Path

import pytest

from finetune.commands.search.space import Space, count_points, parse_space, settings_at
from finetune.errors import UserError
from finetune.training.targets import files_of, load_target

BASE = load_target("codah", {})


def space(text: str) -> Space:
    return parse_space(tomllib.loads(text), BASE, origin="space.toml")


def test_ranges_and_choices_are_read_with_dotted_keys_and_sections() -> None:
    found = space(
        "train.learning_rate = { low = 1e-5, high = 1e-3, log = true }\nlayers = ['last', [1, 2]]\nfold = [1, 2]\n"
        "[train.epochs]\nlow = 2\nhigh = 6\nstep = 2"
    )
    assert {key: str(one) for key, one in found.items()} == {
        "train.learning_rate": "FloatDistribution(high=0.001, log=True, low=1e-05, step=None)",
        "train.epochs": "IntDistribution(high=6, log=False, low=2, step=2)",
        "layers": "CategoricalDistribution(choices=('\"last\"', '[1, 2]'))",
        "options.fold": "CategoricalDistribution(choices=('1', '2'))",
    }
    point = {"train.learning_rate": 1.23456e-4, "layers": "[1, 2]", "options.fold": "2", "train.epochs": 4}
    settings = {"train.learning_rate": 1.235e-4, "layers": [1, 2], "options.fold": 2, "train.epochs": 4}
    assert settings_at(found, point) == settings
    assert count_points(found) == math.inf


def test_a_finite_space_has_a_size() -> None:
    assert count_points(space("train.epochs = { low = 2, high = 5, step = 2 }\ntrain.batch_size = [16, 32, 16]")) == 4
    assert count_points(space("train.warmup = { low = 0.0, high = 0.3, step = 0.1 }\nfrozen = [true, false]")) == 8
    assert count_points(space("train.warmup = { low = 0.1, high = 0.1 }")) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train.learing_rate = [1e-3]", ["train.learing_rate", "Did you mean 'train.learning_rate'"]),
        ("learning_rate = [1e-3]", ["Did you mean 'train.learning_rate'"]),
        ("learning_rat = [1e-3]", ["learning_rat", "Did you mean"]),
        ("epoch = [1]", ["epoch", "Did you mean"]),
        ("train.epochs = { low = 3, high = 1 }", ["train.epochs"]),
        ("train.epochs = []", ["train.epochs"]),
        ("train.epochs = { low = 1.5, high = 3 }", ["train.epochs", "1.5", "whole number"]),
        ("train.epochs = { low = 1, high = 3, step = 0.5 }", ["train.epochs"]),
        ("train.learning_rate = { low = 1e-5, high = 1e-3, log = true, step = 1e-5 }", ["train.learning_rate", "log"]),
        ("train.warmup = { low = 0, high = 0.2, log = true }", ["train.warmup", "log"]),
        ("train.epochs = { low = 1 }", ["train.epochs", "high"]),
        ("train.epochs = { low = 1, hihg = 3 }", ["train.epochs", "hihg", "high"]),
        ("train.epochs = { low = 1, high = 'x' }", ["train.epochs", "'x'"]),
        ("train.epochs = 3", ["train.epochs", "neither a range"]),
        ("train.batch_size = [16, 'many']", ["train.batch_size", "many"]),
        ("seed = [1, 2]", ["'seed'", "cannot be searched"]),
        ("distil.teacher = ['a', 'b']", ["'distil.teacher'", "cannot be searched"]),
        ("frozen = { low = 0, high = 1 }", ["frozen", "true or false"]),
        ("", ["no settings"]),
    ],
)
def test_a_fault_is_one_line_with_its_key(text: str, words: list[str]) -> None:
    with pytest.raises(UserError) as raised:
        space(text)
    assert [word for word in words if word not in str(raised.value)] == []
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("file", files_of("spaces").values(), ids=lambda file: file.stem)
def test_a_ready_space_can_be_searched(file: Path) -> None:
    assert space(file.read_text())
    assert file.read_text().startswith("# finetune search ")


def test_settings_that_need_each_other_are_searched_together() -> None:
    assert set(space("lora = [4, 8]\nlora_alpha = { low = 8, high = 32, log = true }")) == {"lora", "lora_alpha"}
    with pytest.raises(UserError, match="does nothing without LoRA"):
        space("lora_alpha = [8, 16]")
