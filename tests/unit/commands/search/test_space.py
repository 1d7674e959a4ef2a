"""Spaces of searches: what they hold, and what is wrong with one."""

import tomllib
from pathlib import Path

import pytest

from finetune.commands.search.space import Space, parse_space, points_of
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.training.targets import space_files

RECIPE = Recipe(task="rte")


def space(text: str, options: tuple[str, ...] = ()) -> Space:
    return parse_space(tomllib.loads(text), RECIPE, options=options, origin="space.toml")


def test_ranges_and_choices_are_read_with_dotted_keys_and_sections() -> None:
    found = space(
        "train.learning_rate = { low = 1e-5, high = 1e-3, log = true }\nlayers = ['last', [1, 2]]\nfold = [1, 2]\n"
        "[train.epochs]\nlow = 2\nhigh = 6\nstep = 2",
        options=("fold",),
    )
    assert found == {
        "train.learning_rate": {"low": 1e-5, "high": 1e-3, "log": True},
        "train.epochs": {"low": 2, "high": 6, "step": 2},
        "layers": ["last", [1, 2]],
        "options.fold": [1, 2],
    }
    assert points_of(found) is None


def test_a_finite_space_is_listed_in_the_order_of_a_grid() -> None:
    found = space("train.epochs = { low = 2, high = 4, step = 2 }\ntrain.batch_size = [16, 32, 16]")
    pairs = [(2, 16), (2, 32), (4, 16), (4, 32)]
    assert points_of(found) == [{"train.epochs": one, "train.batch_size": other} for one, other in pairs]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train.learing_rate = [1e-3]", ["train.learing_rate", "Did you mean 'train.learning_rate'"]),
        ("learning_rate = [1e-3]", ["Did you mean 'train.learning_rate'"]),
        ("learning_rat = [1e-3]", ["'learning_rat'. Did you mean 'train.learning_rate'? "]),
        ("epoch = [1]", ["Did you mean 'train.epochs'? "]),
        ("train.epochs = { low = 3, high = 1 }", ["train.epochs", "empty"]),
        ("train.epochs = []", ["train.epochs", "empty"]),
        ("train.epochs = { low = 1.5, high = 3 }", ["train.epochs", "1.5", "whole number"]),
        ("train.epochs = { low = 1, high = 3, step = 0.5 }", ["train.epochs", "step"]),
        ("train.learning_rate = { low = 1e-5, high = 1e-3, log = true, step = 1e-5 }", ["log", "exclude"]),
        ("train.warmup = { low = 0, high = 0.2, log = true }", ["train.warmup", "no logarithm"]),
        ("train.epochs = { low = 1 }", ["train.epochs", "no high"]),
        ("train.epochs = { low = 1, hihg = 3 }", ["'hihg'", "Did you mean 'high'"]),
        ("train.epochs = { low = 1, high = 'x' }", ["train.epochs", "'x'", "not a number"]),
        ("train.epochs = 3", ["train.epochs", "neither a range nor a list"]),
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


@pytest.mark.parametrize("file", space_files().values(), ids=lambda file: file.stem)
def test_a_ready_space_can_be_searched(file: Path) -> None:
    table = tomllib.loads(file.read_text())
    assert parse_space(table, RECIPE, options=(), origin=file.name)
    assert file.read_text().startswith("# finetune search ")


def test_settings_that_need_each_other_are_searched_together() -> None:
    assert set(space("lora = [4, 8]\nlora_alpha = { low = 8, high = 32, log = true }")) == {"lora", "lora_alpha"}
    with pytest.raises(UserError, match="does nothing without LoRA"):
        space("lora_alpha = [8, 16]")
