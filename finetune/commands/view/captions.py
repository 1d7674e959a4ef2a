"""The texts of the page in each language."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from finetune.errors import UserError

if TYPE_CHECKING:
    from markupsafe import Markup

LANGUAGES = ("en", "ko")
Captions = dict[str, dict[str, dict[str, str]]]


@cache
def captions() -> Captions:
    """By part of the page (`page`, `script`), by name and by language."""
    return tomllib.loads((files("finetune.commands.view") / "captions.toml").read_text(encoding="utf-8"))


def script_captions() -> dict[str, dict[str, str]]:
    """What the scripts say, by language and by name."""
    return {language: {name: text[language] for name, text in captions()["script"].items()} for language in LANGUAGES}


def require_language(lang: str | None) -> None:
    """Raises UserError for a language that the page does not have; None is the browser's."""
    if lang is not None and lang not in LANGUAGES:
        raise UserError(f"`lang` is '{lang}'", f"Choose {' or '.join(LANGUAGES)}")


def filled(text: str, **values: Any) -> "Markup":
    """A text of the page, which is HTML, with values, which are not."""
    from markupsafe import Markup

    return Markup(text).format(**values) if values else Markup(text)
