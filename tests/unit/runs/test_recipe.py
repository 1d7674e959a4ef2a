"""Recipes: every fault at once, in words that help; overrides, grids and seeds; and the id that they give a run."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ROOT

from finetune.errors import UserError
from finetune.runs.recipe import Recipe, Train, setting_fields
from finetune.runs.record_files import all_records
from finetune.runs.resolve import expand, load_recipe, parse, run_id, with_settings
from finetune.runs.settings import DEFAULTS, override_value, recipe_files, typed_value
from finetune.task_types.options import option_names
from finetune.task_types.registry import find
from finetune.training.targets import split_arguments


def parsed(**settings: Any) -> Recipe:
    return with_settings(parse({"task": "mrpc"}, origin="test"), settings, origin="test")


def message(settings: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        parsed(**settings)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(recipe_files()))
def test_every_recipe_loads_its_task_exists_and_its_first_line_runs_it(name: str) -> None:
    file = recipe_files()[name]
    assert find(load_recipe(file, options=option_names).task).name
    assert file.read_text(encoding="utf-8").splitlines()[0] == f"# finetune run {name}"


def test_the_glue_recipes_have_the_settings_of_the_paper() -> None:
    names = [name for name in recipe_files() if name.startswith("glue-")]
    assert len(names) == 9
    for name in names:
        one = load_recipe(recipe_files()[name], options=option_names)
        assert (one.train.batch_size, one.train.epochs, one.train.learning_rate) == (32, 3, 2e-5)
        assert (one.max_length, one.model) == (128, "google-bert/bert-base-uncased")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"train.learning_rat": 1e-4}, "Did you mean 'train.learning_rate'"),
        ({"tran.epochs": 1}, "unknown key 'tran.epochs'. Did you mean 'train.epochs'"),
        ({"learning_rate": 1e-4}, "Did you mean 'train.learning_rate'?"),
        ({"zzz": 1}, "task, model, max_length"),
        ({"train.epochs": "3"}, "'train.epochs' is '3'"),
        ({"train.learning_rate": 0.0}, "at least 1e-12"),
        ({"train.schedule": "lineer"}, "linear, cosine"),
        ({"train.warmup": 1.5}, "at least 0 and at most 1"),
        ({"train.learning_rate": float("nan")}, "at most 10"),
        ({"train.epochs": True}, "It must be a whole number at least 1"),
        ({"seed": -1}, "'seed' is -1"),
        ({"limit": 0}, "'limit' is 0"),
        ({"train": 3}, "'train' is 3"),
        ({"tokenizer": 10}, "'tokenizer' is 10. It must be"),
        ({"task.name": 3}, "'task'"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(settings: dict[str, Any], expected: str) -> None:
    assert expected in message(settings)


@pytest.mark.parametrize(
    ("settings", "what", "remedy"),
    [
        ({"train.epocs": 1}, "'train.epocs'", "Did you mean 'train.epochs'"),
        ({"zzz": 1}, "'zzz'", "The keys are task, model"),
        ({"train.epochs": "3"}, "is '3'", "It must be a whole number"),
    ],
)
def test_the_remedy_of_one_fault_is_apart(settings: dict[str, Any], what: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed(**settings)
    assert what in caught.value.what
    assert caught.value.way_out.startswith(remedy)


def test_all_faults_are_reported_at_once() -> None:
    text = message({"train.epochs": 0, "train.precision": "fp8", "modle": "x"})
    assert text.count("\n  - ") == 3
    assert "train.epochs" in text
    assert "auto, fp32, bf16, fp16" in text
    assert "Did you mean 'model'" in text


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("task = \n")
    with pytest.raises(UserError, match=r"mine\.toml: is not TOML"):
        load_recipe(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2e-5", 2e-5),
        ("3", 3),
        ("true", True),
        ("minilm", "minilm"),
        ("[1, 2]", [1, 2]),
        ("a/b", "a/b"),
        ('"3"', "3"),
        ("07:30:00", "07:30:00"),
    ],
)
def test_override_values_are_read_as_toml_else_as_text(text: str, value: Any) -> None:
    assert override_value("train.epochs", text) == value


@pytest.mark.parametrize("text", ["2024-05-01", "07:30:00", "1.50", "true", "1_000", "inf", "7136253e48", "[1]", "a,b"])
def test_names_of_columns_and_files_are_kept_as_typed(text: str) -> None:
    for key in ("text", "options.label", "keep", "drop", "dev", "model", "distil.teacher"):
        assert override_value(key, text) == override_value(key, f'"{text}"') == text
        assert typed_value(key, text) == text


@pytest.mark.parametrize("value", [["5", 7], None, [[1]]])
def test_an_option_of_no_kind_is_one_fault(value: Any) -> None:
    assert re.fullmatch(
        r"test: 'options.keep' is .*\. It must be a text, a number, [^\n]*", message({"options.keep": value})
    )


def test_arguments_are_parted_into_targets_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.toml").touch()
    targets, settings = split_arguments(["glue-mrpc", "model=minilm", "a=b.toml", "train.epochs=2"])
    assert targets == ["glue-mrpc", "a=b.toml"]
    assert settings == {"model": "minilm", "train.epochs": 2}


def test_a_recipe_written_as_toml_reads_back_the_same(tmp_path: Path) -> None:
    one = parsed(**{"model": 'a "quoted" \\ name', "train.learning_rate": 3e-5, "grid": {"train.epochs": [1, 2]}})
    (tmp_path / "r.toml").write_text(one.to_toml(), encoding="utf-8")
    assert load_recipe(tmp_path / "r.toml") == one


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


def test_a_recipe_is_written_as_a_person_would() -> None:
    grid = {"train.epochs": [1, 2], "variant": [{"layers": "last", "train.clip_norm": 1.0}, {"layers": [1, 2]}]}
    one = parsed(max_length=64, options={"label": "mark", "thresholds": [0.5, 0.25]}, grid=grid)
    assert one.to_toml() == (
        'task = "mrpc"\nmax_length = 64\n\n'
        '[options]\nlabel = "mark"\nthresholds = [0.5, 0.25]\n\n'
        '[grid]\n"train.epochs" = [1, 2]\n'
        'variant = [{ layers = "last", "train.clip_norm" = 1.0 }, { layers = [1, 2] }]\n'
    )


def test_a_grid_gives_every_combination_once() -> None:
    one = parsed(grid={"train.learning_rate": [2e-5, 3e-5], "train.epochs": [2, 3, 4]})
    points = expand(one, seeds=2, origin="test")
    assert len({(p.train.learning_rate, p.train.epochs, p.seed) for p in points}) == len(points) == 12
    assert {p.seed for p in points} == {42, 43}
    assert all(p.grid == {} for p in points)


@pytest.mark.parametrize("bad", [{"train.epochs": [0]}, {"train.epoch": [1]}, {"train.epochs": []}, {"seed": [1]}])
def test_a_wrong_grid_is_refused_before_anything_runs(bad: dict[str, list[Any]]) -> None:
    with pytest.raises(UserError):
        expand(parsed(grid=bad), seeds=2, origin="test")


def test_a_grid_may_be_written_as_toml_reads_it() -> None:
    one = parsed(grid={"train": {"epochs": [1, 2]}, "seed": [3]})
    assert one.grid == {"train.epochs": [1, 2], "seed": [3]}
    assert len(expand(one, origin="test")) == 2


def identified(one: Recipe, **changes: Any) -> str:
    facts = {"task": "toy-cats", "version": 1, "data": "d", "weights": "w", "precision": "fp32"} | changes
    return run_id(one, **facts)


def test_the_id_is_of_what_decides_the_result() -> None:
    base = identified(parsed())
    assert base == identified(parsed(seed=42, **{"train.epochs": 3, "train.precision": "fp32"}))  # the defaults
    assert base == identified(parsed(init_seed=42, data_seed=42, seed=7))  # the same seeds said otherwise
    assert base == identified(parsed(model="elsewhere/the-same-weights"))
    assert base == identified(parsed(grid={"seed": [42]}))
    changed = [
        identified(parsed(seed=43)),
        identified(parsed(data_seed=43)),
        identified(parsed(init_seed=43)),
        identified(parsed(limit=10)),
        identified(parsed(max_length=64)),
        identified(parsed(**{"train.epochs": 4})),
        identified(parsed(), data="other"),
        identified(parsed(), weights="other"),
        identified(parsed(), precision="bf16"),
        identified(parsed(), task_file="hash of the user's own file"),
        identified(parsed(), version=2),
    ]
    assert len({base, *changed}) == 12


def test_the_id_of_known_settings_stays() -> None:
    """A changed id would make every finished run of every user run again."""
    assert identified(parsed(**{"train.learning_rate": 2e-4})) == "211dce9549"


def test_the_ids_of_the_shipped_records_stay() -> None:
    """Those of tasks with options need the task's defaults, and are left out."""
    records = [record for record in all_records(ROOT / "results") if not record.recipe.get("options")]
    assert len(records) > 70
    for record in records:
        chosen = {name: value for name, value in record.recipe.items() if value is not None}
        if chosen["train"].get("updates"):
            chosen["train"] = {name: value for name, value in chosen["train"].items() if name != "epochs"}
        facts = {"task": record.task, "version": record.task_version, "precision": record.precision}
        one = Recipe.model_validate(chosen)
        assert identified(one, data=record.data, weights=record.weights, **facts) == record.id


def test_the_defaults_that_lists_of_records_use_are_those_of_the_recipe() -> None:
    declared = {key: field.default for key, field in setting_fields().items()}
    assert {key: value for key, value in declared.items() if key not in ("task", "options", "grid")} == DEFAULTS
