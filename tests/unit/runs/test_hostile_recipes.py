"""Recipes and settings that ask for too much: one line, before time or memory is taken; and those made at random."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from support.hostile.recipes import fuzz_recipes

from finetune.errors import UserError
from finetune.runs.resolve import expand, load_recipe, parse, with_settings
from finetune.runs.settings import MOST_BYTES, override_value, parse_toml
from finetune.task_types.options import configured
from finetune.task_types.registry import find
from finetune.training.targets import expand_targets, load_target, split_arguments


def message(**settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        with_settings(parse({"task": "mrpc"}, origin="test"), settings, origin="test")
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("seed", 2**63, "at most 9,223,372,036,854,775,807"),
        ("init_seed", 2**64, "9,223,372,036,854,775,807"),
        ("data_seed", 10**400, "9,223,372,036,854,775,807"),
        ("limit", 2**63, "9,223,372,036,854,775,807"),
        ("max_length", 10**9, "131,072"),
        ("layers", [1] * 100_000, "at most 100 values"),
        ("layers", [2**70], "It must be one of embeddings"),
        ("task", "x" * 5_000, "4,096 characters"),
        ("train.epochs", 10**12, "10,000"),
        ("train.batch_size", 10**9, "65,536"),
        ("train.accumulation", 10**9, "65,536"),
        ("train.learning_rate", 1e38, "at most 10"),
        ("train.learning_rate", 1e-45, "at least 1e-12"),
        ("train.weight_decay", 1e30, "at most 100"),
        ("train.adam_epsilon", 1e-300, "at least 1e-20"),
        ("train.clip_norm", 1e-300, "at least 1e-06"),
        ("train.layer_decay", 1e-300, "at least 0.001"),
        ("train.dropout", 0.9999999, "at most 0.99"),
        ("train.warmup", float("nan"), "at most 1"),
        ("train.weight_decay", float("inf"), "at most 100"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_its_bound(key: str, value: Any, allowed: str) -> None:
    text = message(**{key: value})
    assert f"'{key}" in text
    assert allowed in text
    assert len(text) < 600


@pytest.mark.parametrize(
    "line", [f"x = [{', '.join(['0.5'] * 100)}]", f'x = "{"." * 100}"', f"x = 1  # {'.' * 100}", f"x = '{'a.' * 100}'"]
)
def test_many_dots_outside_of_keys_are_allowed(line: str) -> None:
    assert "x" in parse_toml(line, origin="test")


@pytest.mark.parametrize(
    "line", [f"a{'.a' * 100} = 1", f"[a{'.a' * 100}]", f"x = {{ a{'.a' * 100} = 1 }}", '"q"' + ".'q'" * 100 + " = 1"]
)
def test_keys_of_many_parts_are_refused(line: str) -> None:
    with pytest.raises(UserError, match="nested more than"):
        parse_toml(line, origin="test")


def test_the_largest_seed_can_be_used_and_written() -> None:
    one = parse({"task": "mrpc", "seed": 2**63 - 1}, origin="test")
    assert override_value("seed", str(one.seed)) == one.seeds[0] == 2**63 - 1
    with pytest.raises(UserError, match="seed"):
        expand(one, seeds=2, origin="test")


def test_a_batch_has_no_more_parts_than_rows() -> None:
    assert "accumulation 9 is more parts than batch_size 8 has rows" in message(
        **{"train.batch_size": 8, "train.accumulation": 9}
    )


def test_of_many_faults_the_first_are_listed_and_all_counted() -> None:
    started = time.monotonic()
    text = message(**{f"k{number}": 1 for number in range(100_000)})
    assert time.monotonic() - started < 10
    assert (text.count("\n  - "), "and 99,990 more" in text) == (11, True)
    assert len(message(**{"x" * 100_000: "y" * 100_000})) < 1_500


@pytest.mark.parametrize(
    ("grid", "seeds"),
    [
        ({"train.epochs": [1] * 1_000, "seed": [1] * 1_000, "train.warmup": [0.1] * 1_000}, 1),
        ({f"k{number}": [1, 2] for number in range(2_000)}, 1),
        ({}, 10**9),
        ({"train.epochs": [1, 2]}, 9_000),
    ],
)
def test_a_grid_of_too_many_runs_is_refused_before_it_is_built(grid: dict[str, Any], seeds: int) -> None:
    one = parse({"task": "mrpc", "grid": grid}, origin="test")
    with pytest.raises(UserError, match="10,000 is the most"):
        expand(one, seeds=seeds, origin="test")


def test_a_recipe_file_is_a_small_regular_text(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "deep.toml").write_text("x = " + "[" * 5_000 + "]" * 5_000)
    (tmp_path / "dotted.toml").write_text("a." * 100_000 + "b = 1")  # quadratic in tomllib
    (tmp_path / "number.toml").write_text("seed = " + "9" * 5_000)
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "device.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    for name in ("large", "binary", "deep", "dotted", "number", "pipe", "device", "folder"):
        with pytest.raises(UserError, match=rf"{name}\.toml"):
            load_recipe(tmp_path / f"{name}.toml")
        with pytest.raises(UserError):
            expand_targets([str(tmp_path / f"{name}.toml")], {})


def test_a_setting_may_be_longer_than_a_file_name() -> None:
    _, settings = split_arguments([f"model={'x' * 300}", f"task={'y' * 5_000}"])
    assert [len(value) for value in settings.values()] == [300, 5_000]
    with pytest.raises(UserError, match="unknown task"):
        load_target("glue-mrpc", {"task": "z" * 300})


@pytest.mark.parametrize("name", ["[1]", "{a = 1}", "3", "true", "nothing"])
def test_a_preset_is_a_name(name: str) -> None:
    with pytest.raises(UserError, match="no preset is called"):
        expand_targets(["glue-mrpc"], {"preset": override_value("preset", name)})


def test_options_of_a_task_are_bounded_too() -> None:
    for name in ("n_best", "stride", "max_answer_tokens"):
        with pytest.raises(UserError, match=name):
            configured(find("squad-v2"), {name: 10**9})


@pytest.mark.slow
def test_hostile_recipes_are_used_or_refused(tmp_path: Path) -> None:
    outcome = fuzz_recipes(300, 1, tmp_path)
    assert outcome.faults == []
    assert outcome.tried == outcome.survived == 300
    assert 0 < outcome.refused < 300
