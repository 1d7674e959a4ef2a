"""Help in Korean: every sentence, in lines that fit."""

import re
from collections.abc import Callable

import pytest
import typer

from finetune.cli import app, help
from finetune.cli.commands import COMMANDS
from finetune.languages.sentences import sentences_in

BOUNDS = re.compile(r"[\d.x<>=]+")
Helps = Callable[[], dict[str, str]]


@pytest.fixture
def helps(monkeypatch: pytest.MonkeyPatch) -> Helps:
    """The help of each command by its name, in Korean."""

    def call() -> dict[str, str]:
        monkeypatch.setenv("FINETUNE_LANG", "ko")
        root = typer.main.get_command(app.app)
        context = root.make_context("finetune", ["run"], resilient_parsing=True)
        commands = {name: root.commands[name] for name in COMMANDS}  # type: ignore[attr-defined]
        made = {
            name: one.make_context(name, [], parent=context, resilient_parsing=True) for name, one in commands.items()
        }
        return {"": root.get_help(context), **{name: one.get_help() for name, one in made.items()}}

    return call


def test_every_sentence_of_the_help_is_there_and_no_other(helps: Helps, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = set[str]()
    look_up = help.in_help
    for module in (help, app):
        monkeypatch.setattr(module, "in_help", lambda text: asked.add(text) or look_up(text))
    helps()
    sentences = sentences_in("ko", "help")
    assert len(asked) > 200
    assert {text for text in asked if not BOUNDS.fullmatch(text) and sentences.whole(text) is None} == set()
    assert sentences.exact.keys() - asked == set()


def test_every_line_of_the_help_is_in_korean_and_fits(helps: Helps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name, text in helps().items():
        for line in text.splitlines():
            assert help.cells(line) <= 80, (name, line)
        about, _, listed = text.partition("옵션:")
        assert not re.search(r"\b(?:[a-z]+ ){3}[a-z]+\b", listed.partition("예:")[0]), name  # four English words
        assert about.startswith("사용법: finetune")
