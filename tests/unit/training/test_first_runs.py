"""What a model's name means: a run, a recipe that is run first, or an encoder."""

import shutil
import tomllib
from pathlib import Path

import pytest
from support.cli import InProcess
from support.records import change_record
from support.runs import FinishedRun

from finetune.api.planning import plan
from finetune.commands.search.space import plan_search
from finetune.errors import UserError
from finetune.models.pretrained import resolve
from finetune.runs.lookup import lineage_at
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import MODEL, checkpoint_of, meant_run, with_first_runs, with_parents
from finetune.training.targets import expand_targets


def planned(out: Path, model: str, *targets: str, seeds: int = 1, **settings: str) -> list[ResolvedRun]:
    given = {"model": model, **settings}
    return with_first_runs(expand_targets([*(targets or ["glue-rte"])], given, seeds=seeds), out)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(file: str, model: str, more: str = "") -> str:
    Path(file).write_text(f'task = "mrpc"\nmodel = "{model}"\n{more}')
    return file


def test_each_seed_starts_from_the_same_seed_of_a_recipe(here: Path) -> None:
    write("first.toml", "minilm", "seed = 7\n")
    found = planned(here, "first.toml", seeds=3)
    assert [one.recipe.seed for one in found] == [42, 43, 44]
    firsts = [one.first for one in found if one.first is not None]
    assert [(first.recipe.seed, first.recipe.model, first.task.name) for first in firsts] == [
        (seed, "minilm", "mrpc") for seed in (42, 43, 44)
    ]
    assert {one.recipe.model for one in found} == {"first.toml"}


def test_runs_of_one_seed_share_the_first_run(here: Path) -> None:
    write("first.toml", "minilm")
    write("second.toml", "first.toml")
    grid = "[grid]\ntrain.epochs = [1, 2]\nseed = [1, 2]\n"
    found = planned(here, "second.toml", write("grid.toml", "minilm", grid))
    assert len(found) == 4
    assert len({id(one.first) for one in found}) == 2
    assert len(with_parents(found)) == 8
    assert [one.name for one in with_parents(found)[:3]] == ["first", "second", "grid"]


def test_a_shipped_recipe_is_named_without_its_suffix(here: Path) -> None:
    (one,) = planned(here, "glue-mrpc")
    assert one.first is not None
    assert (one.first.task.name, one.first.recipe.model) == ("mrpc", "google-bert/bert-base-uncased")
    (twice,) = planned(here, "glue-rte")  # the settings of the command are not those of the first run
    assert twice.first is not None
    assert twice.first.recipe.model == "google-bert/bert-base-uncased"


def test_settings_after_a_recipe_are_those_of_its_run(here: Path) -> None:
    write("first.toml", "minilm")
    (one,) = planned(here, "first.toml train.epochs=7 max_length=32")
    assert one.first is not None
    assert (one.first.recipe.train.epochs, one.first.recipe.max_length) == (7, 32)
    assert one.recipe.train.epochs != 7
    (shipped,) = planned(here, "glue-mrpc train.epochs=7")
    assert shipped.first is not None
    assert shipped.first.recipe.train.epochs == 7
    Path("grid.toml").write_text('task = "mrpc"\n[grid]\nmodel = ["first.toml", "first.toml train.epochs=1"]\n')
    every = with_first_runs(expand_targets(["grid.toml"], {}), here)
    assert [first.recipe.train.epochs for one in every if (first := one.first) is not None] == [3, 1]
    assert checkpoint_of({}, here) == ""
    assert checkpoint_of({"model": "first.toml train.epochs=1"}, here) == "minilm"
    assert checkpoint_of({"model": "first.toml model=other/encoder"}, here) == "other/encoder"


@pytest.mark.parametrize(
    ("more", "words"), [("epochs", "'epochs' is not a setting"), ("seed=3", "'seed'"), ("train.epoch=3", "train.epoch")]
)
def test_words_after_a_recipe_that_are_not_its_settings(more: str, words: str, here: Path) -> None:
    write("first.toml", "minilm")
    with pytest.raises(UserError, match=words) as caught:
        planned(here, f"first.toml {more}")
    assert "\n" not in str(caught.value)


def test_a_folder_with_a_model_is_not_taken_for_the_recipe_of_its_name(here: Path, tiny_bert: Path) -> None:
    shutil.copytree(tiny_bert, "glue-mrpc")
    (one,) = planned(here, "glue-mrpc")
    assert one.first is None


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("self.toml", "its model is self.toml -> self.toml"),
        ("one.toml", "its model is one.toml -> two.toml -> one.toml"),
        ("grid.toml", "makes 2 runs"),
        ("absent.toml", "absent.toml"),
    ],
)
def test_recipes_that_cannot_be_a_model(model: str, words: str, here: Path) -> None:
    write("self.toml", "self.toml")
    write("one.toml", "two.toml")
    write("two.toml", "one.toml")
    write("grid.toml", "minilm", "[grid]\ntrain.epochs = [1, 2]\n")
    with pytest.raises(UserError, match=words) as caught:
        planned(here, model)
    assert "\n" not in str(caught.value)
    if model != "absent.toml":
        assert checkpoint_of({"model": model}, here) in ("", "minilm")


def test_a_vocabulary_is_refused_before_the_run_that_has_its_own(here: Path) -> None:
    write("one.toml", "new:tiny")
    with pytest.raises(UserError, match="own vocabulary") as caught:
        planned(here, "one.toml", tokenizer="folder")
    assert 'model="one.toml tokenizer=folder"' in caught.value.way_out


@pytest.fixture
def run(copied_run: FinishedRun, finished_run: FinishedRun, here: Path) -> Path:
    """A finished run in `results`, and its data."""
    shutil.copy(finished_run("sentence").parents[2] / "reviews.csv", here)
    return copied_run("sentence")


def test_a_run_is_named_as_in_other_commands(run: Path, here: Path) -> None:
    out = Path("results")
    for name in (str(run), str(run.relative_to(here)), run.name, run.name[:6], "reviews.csv"):
        (one,) = planned(out, name)
        assert one.first is None
        assert Path(one.recipe.model).resolve() == run.resolve()
    for name in (str(run / "model"), "minilm", "google-bert/bert-base-uncased", "absent"):
        assert meant_run(name, MODEL, out) == (None, "")
        assert planned(out, name)[0].recipe.model == name


def test_a_run_that_cannot_be_a_model_is_one_line(run: Path) -> None:
    out, other = Path("results"), run.with_name(f"{run.name[:4]}000000")
    shutil.copytree(run, other)
    with pytest.raises(UserError, match="prefix of 2 run ids"):
        planned(out, run.name[:4])
    shutil.rmtree(other)
    shutil.rmtree(run / "model")
    for name in (run.name, str(run)):
        with pytest.raises(UserError, match=r"its model is missing.*`force`"):
            planned(out, name)
    with pytest.raises(UserError, match=r"Train one: finetune run reviews\.csv"):
        planned(Path("elsewhere"), "reviews.csv")


def test_the_name_of_data_is_the_run_that_is_meant_and_no_other_needs_its_weights(run: Path) -> None:
    out, later = Path("results"), run.with_name("0123456789")
    shutil.copytree(run, later)
    change_record(run / "record.json", baselines={"dev": {}})
    change_record(later / "record.json", id=later.name, finished="2100-01-01T00:00:00+00:00")  # no better than chance
    shutil.rmtree(later / "model")
    (one,) = planned(out, "reviews.csv")
    assert Path(one.recipe.model) == out / "reviews.csv" / run.name
    assert one.notes[0].startswith(f"model=reviews.csv is run {run.name}") and one.notes[0].endswith("of 2 runs")
    shutil.rmtree(run / "model")
    with pytest.raises(UserError, match=f"{run.name}: its model is missing"):
        planned(out, "reviews.csv")


def test_a_run_gives_its_lineage_until_its_model_is_changed(run: Path) -> None:
    for name in (str(run), str(run / "model")):
        found = lineage_at(resolve(name).folder)
        assert found is not None
        assert (found.run, found.task) == (run.name, "reviews.csv")
    assert resolve(str(run)).fingerprint == resolve(str(run / "model")).fingerprint
    shutil.copytree(run / "model", run.parent / "other")
    assert lineage_at(run.parent / "other") is None
    (run / "model" / "checksums.json").unlink()
    assert lineage_at(run / "model") is None
    change_record(run / "record.json")  # an older one has no checksums
    assert lineage_at(run / "model") is not None


def test_the_learning_rate_is_that_of_the_encoder_where_all_began(run: Path) -> None:
    change_record(run / "record.json", model="minilm")
    write("first.toml", "minilm")
    write("second.toml", "first.toml")
    write("third.toml", run.name)
    for model, rate in (("minilm", 1e-4), (run.name, 1e-4), ("second.toml", 1e-4), ("third.toml", 1e-4)):
        assert plan(["reviews.csv"], {"model": model})[0].recipe.train.learning_rate == rate
    change_record(run / "record.json", model="somebody/encoder")
    assert plan(["reviews.csv"], {"model": run.name})[0].recipe.train.learning_rate == 2e-5
    assert plan(["reviews.csv"], {"model": run.name, "train.learning_rate": 3e-5})[0].recipe.train.learning_rate == 3e-5


def test_a_narrow_new_encoder_has_a_higher_learning_rate(run: Path, in_process: InProcess) -> None:
    def rate(model: str) -> float:
        vocabulary = {"tokenizer": "vocabulary"} if model.startswith("new:") else {}
        return plan(["reviews.csv"], {"model": model, **vocabulary})[0].recipe.train.learning_rate

    assert [rate(model) for model in ("new:tiny", "new:6x320", "new:2x384", "new:small")] == [5e-4, 5e-4, 2e-5, 2e-5]
    change_record(run / "record.json", model="new:mini")
    assert rate(run.name) == 5e-4
    assert rate(write("pre.toml", "new:mini", "tokenizer = 500\n")) == 5e-4
    for model in (run.name, "pre.toml", "pre.toml train.updates=5"):
        printed = in_process("init", "reviews.csv", f"model={model}", data="")[1]
        assert tomllib.loads(printed)["train"]["learning_rate"] == 5e-4
    assert plan_search("reviews.csv", {"model": run.name}).base.recipe.train.learning_rate == 5e-4
