"""Recipes: each fault named with what is allowed, what is read and written again, grids and seeds."""

import os
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finetune.errors import UserError
from finetune.runs.recipe import Recipe, Train, setting_fields
from finetune.runs.resolve import expand, load_recipe, parse, shares_of, with_settings
from finetune.runs.settings import DEFAULTS, MOST_BYTES, override_value, recipe_files, typed_value
from finetune.task_types.options import option_names
from finetune.task_types.registry import find
from finetune.training.targets import expand_targets, split_arguments


def parsed(**settings: Any) -> Recipe:
    return with_settings(parse({"task": "mrpc"}, origin="test"), settings, origin="test")


def message(**settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        parsed(**settings)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(recipe_files()))
def test_every_recipe_loads_its_task_exists_and_its_first_line_runs_it(name: str) -> None:
    file = recipe_files()[name]
    one = load_recipe(file, options=option_names)
    assert find(one.task).name
    assert file.read_text(encoding="utf-8").splitlines()[0] == f"# finetune run {name}"
    if name.startswith("glue-"):  # the settings of BERT's paper
        assert (one.train.batch_size, one.train.epochs, one.train.learning_rate) == (32, 3, 2e-5)
        assert (one.max_length, one.model) == (128, "google-bert/bert-base-uncased")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train.learning_rat": 1e-4}, ("'train.learning_rat'", "Did you mean 'train.learning_rate'")),
        ({"learning_rate": 1e-4}, ("'learning_rate'", "'train.learning_rate'")),
        ({"zzz": 1}, ("'zzz'", "task, model, max_length")),
        ({"tokenizer": 10}, ("'tokenizer' is 10", "at least 16")),
        ({"layers": [1] * 100_000}, ("'layers'", "at most 100 values")),
        ({"task": "x" * 5_000}, ("'task'", "4,096 characters")),
        ({"train.learning_rate": float("nan")}, ("'train.learning_rate'", "at most 10")),
        ({"train.warmup": 1.5}, ("'train.warmup' is 1.5", "at least 0 and at most 1")),
        ({"options.keep": [[1]]}, ("'options.keep'", "It must be a text, a number")),
        ({"train.batch_size": 8, "train.accumulation": 9}, ("accumulation 9", "batch_size 8")),
        ({"lora": 4, "reinit_layers": 1}, ("lora = 4", "reinit_layers = 1")),
        ({"lora": 4, "adapter": True, "bilstm": True}, ("adapter", "bilstm")),
        ({"frozen": True, "train.gradient_checkpointing": True}, ("gradient_checkpointing", "frozen")),
        ({"bilstm": True, "pooling": "mean"}, ("pooling mean", "BiLSTM")),
    ],
)
def test_a_wrong_setting_is_one_line_with_its_value_and_what_is_allowed(
    settings: dict[str, Any], words: tuple[str, ...]
) -> None:
    text = message(**settings)
    assert [word for word in words if word not in text] == [], text
    assert len(text) < 2_000 and len(text.splitlines()) == 1


def test_all_faults_are_reported_at_once_and_of_many_the_first() -> None:
    text = message(**{"train.epochs": 0, "train.precision": "fp8", "modle": "x"})
    assert (text.count("\n  - "), "train.epochs" in text, "auto, fp32, bf16, fp16" in text) == (3, True, True)
    assert "Did you mean 'model'" in text
    started = time.monotonic()
    text = message(**{f"k{number}": 1 for number in range(100_000)})
    assert time.monotonic() - started < 10
    assert (text.count("\n  - "), "and 99,990 more" in text) == (11, True)
    assert len(message(**{"x" * 100_000: "y" * 100_000})) < 1_500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("2e-5", 2e-5), ("3", 3), ("true", True), ("minilm", "minilm"), ("[1, 2]", [1, 2]), ("a/b", "a/b")],
        *[('"3"', "3"), ("07:30:00", "07:30:00")],
    ],
)
def test_override_values_are_read_as_toml_else_as_text(text: str, value: Any) -> None:
    assert override_value("train.epochs", text) == value


@pytest.mark.parametrize("text", ["2024-05-01", "07:30:00", "1.50", "true", "1_000", "7136253e48", "[1]", "a,b"])
def test_names_of_columns_and_files_are_kept_as_typed(text: str) -> None:
    for key in ("text", "options.label", "keep", "drop", "dev", "model", "distil.teacher"):
        assert override_value(key, text) == override_value(key, f'"{text}"') == typed_value(key, text) == text


def test_arguments_are_parted_into_targets_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.toml").touch()
    found = split_arguments(["glue-mrpc", "model=minilm", "a=b.toml", "train.epochs=2", f"task={'y' * 5_000}"])
    assert found == (["glue-mrpc", "a=b.toml"], {"model": "minilm", "train.epochs": 2, "task": "y" * 5_000})


def test_a_recipe_file_is_a_small_regular_text(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "deep.toml").write_text("x = " + "[" * 5_000 + "]" * 5_000)
    (tmp_path / "dotted.toml").write_text("a." * 100_000 + "b = 1")  # quadratic in tomllib
    (tmp_path / "number.toml").write_text("seed = " + "9" * 5_000)
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "device.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    for file in [*tmp_path.iterdir()]:
        with pytest.raises(UserError, match=file.name):
            load_recipe(file)
        with pytest.raises(UserError):
            expand_targets([str(file)], {})


TEXTS = st.text(st.characters(codec="utf-8"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
LISTS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4) | st.lists(TEXTS, max_size=4)
SETTINGS = st.dictionaries(TEXTS, TEXTS | NUMBERS | LISTS, max_size=4)


@settings(deadline=None, derandomize=True)
@given(
    model=TEXTS,
    options=SETTINGS,
    variants=st.lists(SETTINGS, min_size=1, max_size=3),
    values=st.lists(TEXTS | NUMBERS | LISTS, max_size=4),
)
def test_every_recipe_can_be_written_as_toml(
    model: str, options: dict[str, Any], variants: list[dict[str, Any]], values: list[Any]
) -> None:
    axes = {"variant": variants, "options.any": values, 'a "key" = 1': values}
    one = Recipe(task="mrpc", model=model, options=options, grid=axes, train=Train(learning_rate=1e-5))
    assert parse(tomllib.loads(one.to_toml()), origin="test") == one


def test_a_grid_gives_every_combination_once() -> None:
    one = parsed(grid={"train.learning_rate": [2e-5, 3e-5], "train": {"epochs": [2, 3]}, "variant": [{"layers": [1]}]})
    points = expand(one, seeds=2, shares=[0.5, 1.0], origin="test")
    assert [(p.train.learning_rate, p.train.epochs, p.layers, p.train_share, p.seed, p.grid) for p in points] == [
        (rate, epochs, [1], share, seed, {})
        for rate in (2e-5, 3e-5) for epochs in (2, 3) for share in (0.5, 1.0) for seed in (42, 43)
    ]  # fmt: skip
    assert parsed(seed=2**63 - 1).seeds[0] == 2**63 - 1


@pytest.mark.parametrize(
    ("settings", "asked", "words"),
    [
        ({"grid": {"train.epochs": [0]}}, {}, "train.epochs"),
        ({"grid": {"train.epochs": []}}, {}, "grid.train.epochs is an empty list"),
        ({"grid": {"train.epochs": [1], "variant": [{"train.epochs": 1}]}}, {}, "train.epochs in two places"),
        ({"grid": {"seed": [1]}}, {"seeds": 2}, "exclude each other"),
        ({"grid": {"train_share": [0.5, 1.0]}}, {"shares": [0.5, 1.0]}, "exclude each other"),
        ({"seed": 2**63 - 1}, {"seeds": 2}, "seed"),
        ({"grid": {"train.epochs": [1] * 1_000, "seed": [1] * 1_000}}, {}, "10,000 is the most"),
        ({"grid": {f"k{number}": [1, 2] for number in range(2_000)}}, {}, "10,000 is the most"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_is_built(
    settings: dict[str, Any], asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        expand(parsed(**settings), origin="test", **asked)


def test_sizes_of_the_data_are_percentages_or_shares_in_order() -> None:
    assert shares_of("100%, 10%,25 %,10%") == [0.1, 0.25, 1.0]
    assert shares_of([1, 0.5, 0.1, 0.5]) == [0.1, 0.5, 1.0]
    for wrong in ([0, 1], [0.5, 2], [0.5], 0.5, [None, 1], ["a", 1], [float("nan"), 1]):
        with pytest.raises(UserError, match=r"data_sizes.*\[0.1, 0.25, 0.5, 1\]"):
            shares_of(wrong)
    for text in ("0%,50%", "abc", "10,20", "nan%,50%", "50%", ","):
        with pytest.raises(UserError, match=r"data_sizes.*10%,25%"):
            shares_of(text)


def test_the_defaults_that_lists_of_records_use_are_those_of_the_recipe() -> None:
    declared = {key: field.default for key, field in setting_fields().items()}
    assert {key: value for key, value in declared.items() if key not in ("task", "options", "grid")} == DEFAULTS
