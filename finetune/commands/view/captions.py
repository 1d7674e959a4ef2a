"""The texts of the page in each language."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from finetune.errors import UserError
from finetune.languages.chosen import asked_language

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


def page_language(asked: str | None) -> str | None:
    """The language in which a page opens: that asked for, else that of FINETUNE_LANG; None for the browser's.

    Raises UserError for another.
    """
    if asked is not None and asked not in LANGUAGES:
        raise UserError(f"`lang` is '{asked}'", f"Choose {' or '.join(LANGUAGES)}")
    return asked or asked_language()


def filled(text: str, **values: Any) -> "Markup":
    """A text of the page, which is HTML, with values, which are not."""
    from markupsafe import Markup

    return Markup(text).format(**values) if values else Markup(text)
