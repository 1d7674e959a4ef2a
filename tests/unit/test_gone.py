"""What was taken out is refused in one line that says what it was and what to do instead."""

import pytest
from support.cli import Finetune, assert_error

from finetune.errors import UserError
from finetune.gone import DEFAULTS, GONE
from finetune.runs.recipe import parse


def test_every_entry_says_what_it_was_and_what_to_do() -> None:
    assert [name for name, (was, instead) in GONE.items() if not was or not instead] == []


@pytest.mark.parametrize("name", [name for name in GONE if name.startswith("--")])
def test_an_option(here: Finetune, name: str) -> None:
    done = here("run", "quickstart", name)
    assert done.returncode == 2
    assert_error(done.stderr, f"'{name}' was taken out")


def test_the_variable_for_a_language_is_named_in_a_note(here: Finetune, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINETUNE_LANG", "ko")
    done = here("--version")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("note: 'FINETUNE_LANG' was taken out")
    monkeypatch.setenv("FINETUNE_LANG", "en")
    assert here("--version").stderr == ""


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
