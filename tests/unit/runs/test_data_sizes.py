"""Sizes of the data: what is a size, and what is not."""

import pytest

from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.resolve import expand, parse, run_id, shares_of
from finetune.runs.seeds import exact_percent


def test_percentages_become_shares_in_order() -> None:
    assert shares_of("100%, 10%,25 %,10%") == [0.1, 0.25, 1.0]
    assert [exact_percent(share) for share in (0.1, 0.125, 1.0)] == ["10%", "12.5%", "100%"]


def test_shares_of_python_are_numbers() -> None:
    assert shares_of([1, 0.5, 0.1, 0.5]) == [0.1, 0.5, 1.0]
    for wrong in ([0, 1], [0.5, 2], [0.5], 0.5, [None, 1], ["a", 1], [float("nan"), 1]):
        with pytest.raises(UserError, match=r"data_sizes.*\[0.1, 0.25, 0.5, 1\]"):
            shares_of(wrong)


@pytest.mark.parametrize(
    "text", ["0%,50%", "200%,50%", "abc", "10,20", "-5%,50%", "nan%,50%", "inf%,1%", "50%", "", ","]
)
def test_anything_else_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(UserError, match="data_sizes") as raised:
        shares_of(text)
    assert "\n" not in str(raised.value)


def test_each_size_is_a_run_for_each_seed_and_the_whole_keeps_its_id() -> None:
    recipe = Recipe(task="mrpc", seed=5)
    found = expand(recipe, seeds=2, shares=[0.5, 1.0], origin="test")
    assert [(one.train_share, one.seed) for one in found] == [(0.5, 5), (0.5, 6), (1.0, 5), (1.0, 6)]
    ids = [run_id(one, task="t", version=1, data="d", weights="w", precision="fp32") for one in (recipe, *found)]
    assert ids[0] == ids[3]
    assert len(set(ids)) == 4


def test_a_share_in_the_recipe_and_sizes_exclude_each_other() -> None:
    for recipe in (Recipe(task="mrpc", train_share=0.5), Recipe(task="mrpc", grid={"train_share": [0.5, 1.0]})):
        with pytest.raises(UserError, match="exclude each other"):
            expand(recipe, shares=[0.5, 1.0], origin="test")
    for share in (0, -1, 1.5):
        with pytest.raises(UserError, match="train_share"):
            parse({"task": "mrpc", "train_share": share}, origin="test")
