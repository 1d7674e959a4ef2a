"""Parts of a search: when a trial stops, what Optuna is told, which settings change nothing."""

from finetune.commands.search.notes import equal_notes, idle_notes
from finetune.commands.search.proposals import Proposals
from finetune.commands.search.pruning import is_behind, rungs
from finetune.commands.search.space import Choices, Range
from finetune.commands.search.trial import Trial
from finetune.runs.recipe import Recipe

RATE = {"train.learning_rate": Range(low=1e-5, high=1e-3, whole=False, log=True)}


def test_trials_are_compared_after_powers_of_two_before_their_end() -> None:
    assert [rungs(epochs) for epochs in (0, 1, 2, 3, 4, 5, 9)] == [[], [], [1], [1, 2], [1, 2], [1, 2, 4], [1, 2, 4, 8]]


def test_the_median_needs_five_finished_trials() -> None:
    assert not is_behind("median", 0.1, finished=[0.5] * 4, reached=[])
    assert is_behind("median", 0.1, finished=[0.5] * 5, reached=[])
    assert not is_behind("median", 0.5, finished=[0.5] * 5, reached=[])


def test_halving_keeps_the_better_half_of_those_that_came_so_far() -> None:
    reached = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [is_behind("halving", one, finished=[], reached=reached) for one in reached] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not is_behind("halving", 1.0, finished=[], reached=[1.0])
    assert not is_behind("none", 0.0, finished=reached, reached=reached)


def asked(seed: int, count: int = 14) -> list[float]:
    proposals, found = Proposals(RATE, greater_is_better=True, seed=seed), []
    for _ in range(count):
        settings = proposals.ask()
        assert settings is not None
        found.append(settings["train.learning_rate"])
        proposals.tell(settings, -abs(found[-1] - 5e-4), by_epoch={}, pruned=False)
    return found


def test_proposals_are_a_function_of_the_seed_and_near_what_is_good() -> None:
    assert asked(1) == asked(1) != asked(2)
    assert all(1e-5 <= rate <= 1e-3 and rate == float(f"{rate:.4g}") for rate in asked(3))
    late = [rate for seed in range(5) for rate in asked(seed, 30)[20:]]
    assert sum(abs(rate - 5e-4) < 2e-4 for rate in late) > len(late) / 2


def test_settings_are_proposed_once_and_a_space_ends() -> None:
    proposals = Proposals({"train.batch_size": Choices(values=[8, 16])}, greater_is_better=True, seed=0)
    first, second = proposals.ask(), proposals.ask()
    assert first is not None and second is not None and first != second
    assert proposals.ask() is None


def test_settings_without_influence_are_named() -> None:
    frozen = Recipe(task="rte", frozen=True)
    assert ["freeze_layers" in note for note in idle_notes({"freeze_layers": Choices(values=[1, 2])}, frozen)] == [True]
    assert idle_notes({"freeze_layers": Choices(values=[1, 2])}, Recipe(task="rte")) == []
    assert "one point" in idle_notes({"train.epochs": Range(low=3, high=3, whole=True)}, frozen)[0]
    one, *rest = idle_notes(RATE | {"train.batch_size": Choices(values=[8])}, frozen)
    assert ("train.batch_size has one value, 8" in one, rest) == (True, [])


def test_settings_whose_trials_are_equal_are_named() -> None:
    class Scored(Trial):
        @property
        def scores(self) -> list[float]:
            return [0.5, 0.7] if self.settings["train.batch_size"] == 8 else [0.5, 0.6]

        @property
        def value(self) -> float:
            return sum(self.scores) / 2

    space = {"train.batch_size": Choices(values=[8, 16]), "train.patience": Choices(values=[8, 9])}
    trials = [
        Scored(settings={"train.batch_size": size, "train.patience": last}) for size in (8, 16) for last in (8, 9)
    ]
    (note,) = equal_notes(space, trials)
    assert note.startswith("train.patience had no influence")
