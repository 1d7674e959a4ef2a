"""`finetune search`: spaces, what Optuna proposes, what the journal keeps, and which runs are trained."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records import run as record

from finetune.commands.search import Search, study
from finetune.commands.search.space import SearchPlan, Space, parse_space, plan_search
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.runs.events import unwatched
from finetune.training.run_options import RunOptions
from finetune.training.targets import load_target

BASE = load_target("codah", {})
RATE = {"train.learning_rate": {"low": 1e-5, "high": 1e-3, "log": True}}


def space(text: str) -> Space:
    return parse_space(tomllib.loads(text), BASE, origin="space.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train.learing_rate = [1e-3]", ["train.learing_rate", "'train.learning_rate'"]),
        ("train.epochs = { low = 1.5, high = 3 }", ["train.epochs", "1.5"]),
        ("train.learning_rate = { low = 1e-5, high = 1e-3, log = true, step = 1e-5 }", ["train.learning_rate", "log"]),
        ("train.epochs = { low = 1, hihg = 3 }", ["train.epochs", "hihg"]),
        ("train.batch_size = [16, 'many']", ["train.batch_size", "many"]),
        ("seed = [1, 2]", ["'seed'"]),
        ("frozen = { low = 0, high = 1 }", ["frozen", "true or false"]),
        ("lora_alpha = [8, 16]", ["lora_alpha", "LoRA"]),
    ],
)
def test_a_fault_is_one_line_with_its_key(text: str, words: list[str]) -> None:
    with pytest.raises(UserError) as raised:
        space(text)
    assert [word for word in words if word not in str(raised.value)] == [] and "\n" not in str(raised.value)


class Trained:
    """In place of training: the learning rate decides the score; `fails` gives the error of a rate. A finished run is
    not trained again.
    """

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.fails: dict[float, BaseException] = {}
        self.finished: dict[Any, list[Any]] = {}

    def run_all(self, runs: Any, options: RunOptions, **_: Any) -> tuple[list[Any], list[Any]]:
        rate, key = runs[0].recipe.train.learning_rate, (options.out, *(one.recipe.to_toml() for one in runs))
        if key in self.finished:
            return self.finished[key], []
        self.rates.append(rate)
        if rate in self.fails:
            error = self.fails[rate]
            if isinstance(error, UserError):
                return [], [error]
            raise error
        self.finished[key] = [record(-abs(rate - 5e-4), seed=seed) for seed in range(len(runs))]
        return self.finished[key], []


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Trained:
    made = Trained()
    monkeypatch.setattr(study, "run_all", made.run_all)
    return made


@pytest.fixture
def plan(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> SearchPlan:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("text,label\n" + "".join(f"row {n} good,a\nrow {n} bad,b\n" for n in range(20)))
    return plan_search("reviews.csv", {"model": str(tiny_bert)}, RATE)


def searched(plan: SearchPlan, trials: int, *, out: str = "results", space: dict[str, Any] | None = None) -> Search:
    options = RunOptions(source=Source(), out=Path(out))
    return study.execute_search(
        plan if space is None else replace(plan, space=parse_space(space, plan.base, origin="here")),
        options, trials=trials, seeds=1, test_share=0.0, watch=unwatched,
    )  # fmt: skip


def test_the_same_search_trains_nothing_and_more_trials_continue_it(plan: SearchPlan, trained: Trained) -> None:
    first = searched(plan, 12)
    rates = list(trained.rates)
    assert len(set(rates)) == 12 and all(1e-5 <= rate <= 1e-3 and rate == float(f"{rate:.4g}") for rate in rates)
    assert first.trials["mean"].is_monotonic_decreasing
    assert searched(plan, 12).trials.equals(first.trials) and trained.rates == rates
    more = searched(plan, 20)
    assert searched(plan, 20, out="other").trials.equals(more.trials)
    assert trained.rates[20:] == trained.rates[:20]
    assert list(more.trials.columns) == [*RATE, "mean", "sd", "n", "failure"]


def test_a_killed_search_ends_with_the_trials_of_an_undisturbed_one(plan: SearchPlan, trained: Trained) -> None:
    whole = searched(plan, 14, out="undisturbed")
    rates = list(trained.rates)
    for stop in (3, 11, 13):
        trained.fails = {rates[stop]: KeyboardInterrupt()}
        with pytest.raises(KeyboardInterrupt):
            searched(plan, 14)
    trained.fails = {}
    assert searched(plan, 14).trials.equals(whole.trials)


def test_a_diverged_trial_is_not_trained_again_and_one_that_failed_is(plan: SearchPlan, trained: Trained) -> None:
    space: dict[str, Any] = {"train.learning_rate": [1e-4, 2e-4, 3e-4]}
    trained.fails = {1e-4: Diverged("the loss is nan"), 2e-4: UserError("the disk is full")}
    found = searched(plan, 3, space=space)
    assert list(found.trials["failure"]) == ["", "the loss is nan", "the disk is full"]
    trained.fails = {}
    assert list(searched(plan, 3, space=space).trials["failure"]) == ["", "", "the loss is nan"]
    assert trained.rates.count(2e-4) == 2 and len(trained.rates) == 4


def test_a_search_whose_first_trials_all_fail_stops(plan: SearchPlan, trained: Trained) -> None:
    trained.fails = {rate: UserError("the disk is full") for rate in (1e-4, 2e-4, 3e-4, 4e-4)}
    with pytest.raises(UserError, match="first 3 trials failed: the disk is full"):
        searched(plan, 4, space={"train.learning_rate": list(trained.fails)})


def test_a_damaged_journal_is_named(plan: SearchPlan, trained: Trained) -> None:
    searched(plan, 1)
    (journal,) = Path("results").glob("*/search-*.log")
    journal.write_text("{}\n" + journal.read_text())
    with pytest.raises(UserError, match=r"search-.*\.log: is not the journal"):
        searched(plan, 1)
