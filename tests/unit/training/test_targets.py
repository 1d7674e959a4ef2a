"""Targets of a command: presets, grids and variants; and what a model's name means: a run, a recipe, an encoder."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.records import change_record
from support.runs import FinishedRun

from finetune.api.planning import plan
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import checkpoint_of, with_first_runs, with_parents
from finetune.training.targets import expand_targets, files_of


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recipes_of(name: str, **settings: Any) -> list[Recipe]:
    return [one.recipe for one in expand_targets([name], {key.replace("__", "."): settings[key] for key in settings})]


def test_a_preset_stands_for_its_settings_and_ones_own_go_before_them() -> None:
    for settings, expected in (
        ({"preset": "stable"}, (20, 16, True)),
        ({"preset": "stable", "train__epochs": 5}, (5, 16, True)),
        ({"preset": "historical"}, (3, 32, False)),
    ):
        (found,) = recipes_of("glue-rte", **settings)
        assert (found.train.epochs, found.train.batch_size, found.train.bias_correction) == expected
    points = [recipe.train for recipe in recipes_of("glue-mrpc", preset="paper-grid")]
    assert {(train.batch_size, train.learning_rate, train.epochs) for train in points} == {
        (size, rate, epochs) for size in (16, 32) for rate in (5e-5, 3e-5, 2e-5) for epochs in (2, 3, 4)
    }
    fewer = recipes_of("glue-mrpc", preset="paper-grid", train__epochs=3)
    assert (len(fewer), {recipe.train.epochs for recipe in fewer}) == (6, {3})
    for name in files_of("presets"):
        assert recipes_of("glue-rte", preset=name)


FILE = 'task = "codah"\n{}\n[grid]\n{}\n'


@pytest.mark.parametrize(
    ("plain", "grid", "settings", "said"),
    [
        ("fold = 1", "options.fold = [0, 2]", {}, r"also sets options.fold"),
        ("", "fold = [0, 2]", {"options": {"fold": 1}}, r"also sets options.fold"),
        ("", "train.epochs = [1, 2]", {"fold": 1, "grid.options.fold": [0, 2]}, r"also sets options.fold"),
        ("", "variant = [{ train.epochs = 2 }, { seed = 1 }]", {"train.epochs": 5}, r"also sets train.epochs"),
        ("", 'variant = [{ "train.epochs" = 2 }, { "train.epoch" = 2 }]', {}, "Did you mean 'train.epochs'"),
    ],
)
def test_what_a_grid_cannot_have_is_refused(plain: str, grid: str, settings: dict[str, Any], said: str) -> None:
    Path("mine.toml").write_text(FILE.format(plain, grid))
    with pytest.raises(UserError, match=said):
        expand_targets(["mine.toml"], settings)


def test_a_grid_has_the_points_of_its_settings_variants_and_preset() -> None:
    Path("mine.toml").write_text(FILE.format("", "fold = [0, 2]\ntrain.epochs = [9]"))
    points = recipes_of("mine.toml", preset="paper-grid")
    assert (len(points), {point.options["fold"] for point in points}) == (36, {0, 2})
    assert {point.train.epochs for point in points} == {2, 3, 4}
    Path("mine.toml").write_text(FILE.format("train.warmup = 0.3", "variant = [{ train.epochs = 2 }, { seed = 1 }]"))
    found = [(point.train.epochs, point.train.warmup, point.seed) for point in recipes_of("mine.toml")]
    assert found == [(2, 0.3, 42), (3, 0.3, 1)]
    points = recipes_of("ablation-feature-based")  # Table 7
    assert [(p.frozen, p.bilstm, p.train.learning_rate) for p in points[6:]] == [(False, False, 5e-5)]
    assert [p.layers for p in points if p.frozen and p.bilstm] == [
        *("embeddings", "second-to-last", "last", "weighted-sum-last-4", "concat-last-4", "weighted-sum-all")
    ]
    assert {p.options["context"] for p in points} == {"document"}
    others = recipes_of("ablation-feature-based", task="mrpc", model="minilm")
    assert {(p.task, p.model, len(p.options)) for p in others} == {("mrpc", "minilm", 0)}
    assert len(expand_targets(["ablation-feature-based"], {}, seeds=2)) == 14


def planned(model: str, *targets: str, out: Path = Path("results"), seeds: int = 1, **more: str) -> list[ResolvedRun]:
    return with_first_runs(expand_targets([*(targets or ["glue-rte"])], {"model": model, **more}, seeds=seeds), out)


def write(file: str, model: str, more: str = "") -> str:
    Path(file).write_text(f'task = "mrpc"\nmodel = "{model}"\n{more}')
    return file


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("first.toml", ("minilm", 42, 3, 128)),
        ("first.toml model=other/encoder", ("other/encoder", 42, 3, 128)),
        ("glue-mrpc train.epochs=7", ("google-bert/bert-base-uncased", 42, 7, 128)),
    ],
)
def test_a_model_that_is_a_recipe_is_run_first_with_its_own_settings(model: str, expected: tuple[Any, ...]) -> None:
    write("first.toml", "minilm", "seed = 7\n")
    runs = planned(model, seeds=3)
    assert [run.recipe.seed for run in runs] == [42, 43, 44]
    firsts = [run.first.recipe for run in runs if run.first is not None]
    assert [first.seed for first in firsts] == [42, 43, 44]  # each seed starts from the same seed
    first = firsts[0]
    assert (first.model, first.seed, first.train.epochs, first.max_length) == expected
    assert runs[0].recipe.train.epochs == 3
    assert checkpoint_of({"model": model}, Path("results")) == expected[0]


def test_runs_of_one_seed_share_the_first_run(here: Path, tiny_bert: Path) -> None:
    write("first.toml", "minilm")
    write("second.toml", "first.toml")
    found = planned("second.toml", write("grid.toml", "minilm", "[grid]\ntrain.epochs = [1, 2]\nseed = [1, 2]\n"))
    assert len(found) == 4
    assert len({id(one.first) for one in found}) == 2
    assert len(with_parents(found)) == 8
    assert [one.name for one in with_parents(found)[:3]] == ["first", "second", "grid"]
    shutil.copytree(tiny_bert, "glue-mrpc")  # a folder with a model is not taken for the recipe of its name
    assert planned("glue-mrpc")[0].first is None


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("one.toml", "its model is one.toml -> two.toml -> one.toml"),
        ("grid.toml", "makes 2 runs"),
        ("first.toml epochs", "'epochs' is not a setting"),
        ("first.toml seed=3", "'seed'"),
    ],
)
def test_recipes_that_cannot_be_a_model_are_refused(model: str, words: str) -> None:
    write("first.toml", "minilm")
    write("one.toml", "two.toml")
    write("two.toml", "one.toml")
    write("grid.toml", "minilm", "[grid]\ntrain.epochs = [1, 2]\n")
    with pytest.raises(UserError, match=words) as caught:
        planned(model)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="own vocabulary"):
        planned("first.toml", tokenizer="folder")


@pytest.fixture
def run(copied_run: FinishedRun, finished_run: FinishedRun, here: Path) -> Path:
    """A finished run in `results`, and its data."""
    shutil.copy(finished_run("sentence").parents[2] / "reviews.csv", here)
    return copied_run("sentence")


def test_a_run_is_named_as_in_other_commands_and_needs_its_model(run: Path, here: Path) -> None:
    for name in (str(run), str(run.relative_to(here)), run.name, run.name[:6], "reviews.csv"):
        (one,) = planned(name)
        assert one.first is None
        assert Path(one.recipe.model).resolve() == run.resolve()
    for name in (str(run / "model"), "minilm", "google-bert/bert-base-uncased", "absent"):
        assert planned(name)[0].recipe.model == name
    other = run.with_name(f"{run.name[:4]}000000")
    shutil.copytree(run, other)
    with pytest.raises(UserError, match="prefix of 2 run ids"):
        planned(run.name[:4])
    change_record(run / "record.json", baselines={"dev": {}})
    change_record(other / "record.json", id=other.name, finished="2100-01-01T00:00:00+00:00")  # no better than chance
    shutil.rmtree(other / "model")
    (one,) = planned("reviews.csv")
    assert Path(one.recipe.model) == Path("results") / "reviews.csv" / run.name
    assert one.notes[0].startswith(f"model=reviews.csv is run {run.name}") and one.notes[0].endswith("of 2 runs")
    shutil.rmtree(run / "model")
    for name in ("reviews.csv", run.name, str(run)):
        with pytest.raises(UserError, match=rf"{run.name}: its model is missing.*`force`"):
            planned(name)
    with pytest.raises(UserError, match=r"Train one: finetune run reviews\.csv"):
        planned("reviews.csv", out=Path("elsewhere"))


@pytest.mark.parametrize(
    ("began", "rate"), [("minilm", 1e-4), ("somebody/encoder", 2e-5), ("new:mini", 5e-4), ("new:2x384", 2e-5)]
)
def test_the_learning_rate_is_that_of_the_encoder_where_all_began(began: str, rate: float, run: Path) -> None:
    change_record(run / "record.json", model=began)
    write("second.toml", run.name)
    vocabulary = {"tokenizer": "vocabulary"} if began.startswith("new:") else {}
    for given in ({"model": began, **vocabulary}, {"model": run.name}, {"model": "second.toml"}):
        assert plan(["reviews.csv"], given)[0].recipe.train.learning_rate == rate, given
    assert plan(["reviews.csv"], {"model": run.name, "train.learning_rate": 3e-5})[0].recipe.train.learning_rate == 3e-5
