"""What was taken out is refused in one line that says what to do instead."""

import pytest
from support.cli import Finetune, assert_error

from finetune.errors import UserError
from finetune.gone import DEFAULTS, GONE
from finetune.runs.resolve import parse


@pytest.mark.parametrize("name", [name for name in GONE if name.startswith("--")])
def test_an_option(here: Finetune, name: str) -> None:
    done = here("run", "quickstart", name)
    assert done.returncode == 2
    assert_error(done.stderr, f"'{name}' was taken out")


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_setting_at_its_default_is_dropped_and_another_value_is_refused(name: str) -> None:
    def recipe(value: object) -> dict[str, object]:
        section, _, key = name.rpartition(".")
        return {"task": "paraphrase", **({section: {key: value}} if section else {key: value})}

    assert parse(recipe(DEFAULTS[name]), origin="recipe.toml") == parse({"task": "paraphrase"}, origin="recipe.toml")
    with pytest.raises(UserError, match="was taken out"):
        parse(recipe("another"), origin="recipe.toml")
    if not name.startswith("options."):
        with pytest.raises(UserError, match="was taken out"):  # by its last word, which people type
            parse({"task": "paraphrase", name.rpartition(".")[2]: 1}, origin="recipe.toml")
