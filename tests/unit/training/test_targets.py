"""Targets of a command: presets, and grids with variants."""

from pathlib import Path
from typing import Any

import pytest

from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.training.targets import expand_targets, files_of


def recipes_of(names: list[str], settings: dict[str, Any]) -> list[Recipe]:
    return [one.recipe for one in expand_targets(names, settings)]


def test_a_preset_stands_for_its_settings_and_ones_own_go_before_them() -> None:
    (stable,) = recipes_of(["glue-rte"], {"preset": "stable"})
    assert (stable.train.epochs, stable.train.batch_size, stable.train.warmup) == (20, 16, 0.1)
    assert stable.train.bias_correction
    (mine,) = recipes_of(["glue-rte"], {"preset": "stable", "train.epochs": 5})
    assert (mine.train.epochs, mine.train.batch_size) == (5, 16)
    (old,) = recipes_of(["glue-rte"], {"preset": "historical"})
    assert not old.train.bias_correction


def test_the_papers_grid_is_eighteen_points_and_a_setting_of_ones_own_leaves_it() -> None:
    points = [recipe.train for recipe in recipes_of(["glue-mrpc"], {"preset": "paper-grid"})]
    assert len({(train.batch_size, train.learning_rate, train.epochs) for train in points}) == 18
    assert {train.learning_rate for train in points} == {5e-5, 3e-5, 2e-5}
    fewer = [recipe.train for recipe in recipes_of(["glue-mrpc"], {"preset": "paper-grid", "train.epochs": 3})]
    assert len(fewer) == 6
    assert {train.epochs for train in fewer} == {3}


FILE = 'task = "codah"\n{}\n[grid]\n{}\n'


@pytest.mark.parametrize(
    ("plain", "grid", "settings"),
    [
        ("fold = 1", "options.fold = [0, 2]", {}),
        ("options.fold = 1", "fold = [0, 2]", {}),
        ("", "variant = [{fold = 0}, {fold = 2}]", {"fold": 1}),
        ("", "options.fold = [0, 2]", {"fold": 1}),
        ("", "fold = [0, 2]", {"options": {"fold": 1}}),
        ("", "train.epochs = [1, 2]", {"train": {"epochs": 1}}),
        ("", "train.epochs = [1, 2]", {"fold": 1, "grid.options.fold": [0, 2]}),
    ],
)
def test_a_setting_that_a_grid_sets_too_is_refused(
    tmp_path: Path, plain: str, grid: str, settings: dict[str, Any]
) -> None:
    (tmp_path / "mine.toml").write_text(FILE.format(plain, grid))
    with pytest.raises(UserError, match=r"its \[grid\] also sets (options.fold|train.epochs)"):
        expand_targets([str(tmp_path / "mine.toml")], settings)


def test_a_presets_grid_leaves_that_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE.format("", "fold = [0, 2]\ntrain.epochs = [9]"))
    points = recipes_of([str(tmp_path / "mine.toml")], {"preset": "paper-grid"})
    assert (len(points), {point.options["fold"] for point in points}) == (36, {0, 2})
    assert {point.train.epochs for point in points} == {2, 3, 4}


def test_every_preset_begins_with_its_command_and_applies_to_a_recipe() -> None:
    assert len(files_of("presets")) == 5
    for name, file in files_of("presets").items():
        assert f" preset={name}" in file.read_text().splitlines()[0]
        assert expand_targets(["glue-rte"], {"preset": name})
    with pytest.raises(UserError, match=r"Did you mean 'stable'"):
        expand_targets(["glue-rte"], {"preset": "stabl"})


def test_the_ablation_is_table_7_for_any_task_and_encoder() -> None:
    points = recipes_of(["ablation-feature-based"], {})
    assert len(points) == 7
    assert [p.layers for p in points if p.frozen and p.bilstm] == [
        *("embeddings", "second-to-last", "last", "weighted-sum-last-4", "concat-last-4", "weighted-sum-all")
    ]
    assert [(p.frozen, p.bilstm, p.train.learning_rate) for p in points[6:]] == [(False, False, 5e-5)]
    assert {p.options["context"] for p in points} == {"document"}
    others = recipes_of(["ablation-feature-based"], {"task": "mrpc", "model": "minilm"})
    assert {(p.task, p.model) for p in others} == {("mrpc", "minilm")}
    assert all(p.options == {} for p in others)  # which were those of the recipe's own task
    assert len(expand_targets(["ablation-feature-based"], {}, seeds=2)) == 14


def test_a_variant_is_a_table_of_settings(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('task = "rte"\n[grid]\nvariant = [3]\n')
    with pytest.raises(UserError, match=r"grid\.variant"):
        expand_targets([str(file)], {})
    file.write_text('task = "rte"\n[grid]\nseed = [1, 2]\nvariant = [{ "train.epochs" = 2 }, { "train.epoch" = 2 }]\n')
    with pytest.raises(UserError, match=r"Did you mean 'train.epochs'"):
        expand_targets([str(file)], {})


def test_a_setting_of_a_variant_may_be_written_as_toml_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('task = "rte"\ntrain.warmup = 0.3\n[grid]\nvariant = [{ train.epochs = 2 }, { seed = 1 }]\n')
    points = [(point.train.epochs, point.train.warmup, point.seed) for point in recipes_of([str(file)], {})]
    assert points == [(2, 0.3, 42), (3, 0.3, 1)]
    with pytest.raises(UserError, match=r"train\.epochs"):
        expand_targets([str(file)], {"train.epochs": 5})


def test_a_task_in_a_file_is_named_as_in_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "from dataclasses import replace\nfrom finetune.tasks.paraphrase import TASKS as OURS\n"
        'TASKS = [replace(OURS[0], name="mine")]\n'
    )
    (one,) = expand_targets(["own.py:mine"], {"train.epochs": 1})
    assert (one.task.name, one.recipe.train.epochs) == ("mine", 1)
    with pytest.raises(UserError, match=r"has no task 'mone'. Did you mean 'mine'"):
        expand_targets(["own.py:mone"], {})


@pytest.mark.parametrize("target", ["tasks.py:h", "mrpc", "reviews.csv"])
def test_two_tasks_are_refused(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("text,label\n" + "a cat,good\na dog,bad\n" * 20)
    with pytest.raises(UserError, match=f"{target} and task=tasks.py:g name two tasks"):
        expand_targets([target], {"task": "tasks.py:g"})


def test_a_task_is_run_by_its_name_where_no_recipe_is_of_it() -> None:
    (one,) = expand_targets(["cola-text"], {})
    assert one.task.name == "cola-text"
    with pytest.raises(UserError, match=r"whose recipes have other names. Run one: `finetune run quickstart`"):
        expand_targets(["paraphrase"], {})
