"""Which language a person reads: `FINETUNE_LANG`, else that of the locale where there are sentences, else English."""

import os
from pathlib import Path

from finetune.errors import UserError, shown_value

ENGLISH = "en"  # what the code says, which needs no sentences
VARIABLE = "FINETUNE_LANG"
LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set decides, as for other programs
FOLDER = Path(__file__).parent


def languages() -> tuple[str, ...]:
    """English, and every language that has sentences."""
    return ENGLISH, *sorted(folder.name for folder in FOLDER.iterdir() if any(folder.glob("*.toml")))


def asked_language() -> str | None:
    """The language of `FINETUNE_LANG`; None without it. Raises UserError for a language that has no sentences."""
    if not (given := os.environ.get(VARIABLE, "")):
        return None
    if (named := _without_country(given)) in (known := languages()):
        return named
    raise UserError(f"{VARIABLE} is {shown_value(given)}, which is not known", f"Give {' or '.join(known)}")


def chosen_language() -> str:
    """`en` or `ko`. Raises UserError as `asked_language` does."""
    if asked := asked_language():
        return asked
    locale = next(filter(None, map(os.environ.get, LOCALE)), "")
    if locale == "" or (named := _without_country(locale)) not in languages():
        return ENGLISH
    return named


def _without_country(name: str) -> str:
    """`ko` of `ko_KR.UTF-8`, `ko-KR` or `KO`."""
    return name.lower().replace("-", "_").partition(".")[0].partition("_")[0]
