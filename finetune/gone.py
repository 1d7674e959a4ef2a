"""What earlier versions had: the line that a recipe or a command gets which still names it."""

from typing import Any

from finetune.errors import UserError

# What is typed -> (what it was, what to do instead). A command is `soup`, an option `--live`, a setting `together` or
# `train.momentum`, a value `word2vec`.
GONE: dict[str, tuple[str, str]] = {
    "--folds": ("repeated a search on folds", "Hold rows out with --test-share 0.2"),
    "--prune": ("stopped trials of a search early", "Give fewer --trials, or fewer train.epochs"),
    "--page": ("drew the trials of a search as parallel coordinates", "Read the table, or --json"),
}

# Settings that are gone, with the value that they had when nobody set them: recipes in records hold every setting.
DEFAULTS: dict[str, Any] = {}


def gone(name: str) -> UserError | None:
    """The error for a command, an option, a setting or a value of earlier versions; None for any other name."""
    if name not in GONE:
        return None
    was, instead = GONE[name]
    return UserError(f"'{name}' was taken out: it {was}", instead)


def gone_setting(key: str) -> tuple[str, str] | None:
    """What is wrong and what to do for a dotted key of which a part is gone: `together` of `together.tasks`."""
    parts = key.split(".")
    for length in range(1, len(parts) + 1):
        if error := gone(".".join(parts[:length])):
            return error.what, error.way_out
    return None


def without_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """A recipe's table without settings that are gone and that nobody had set."""
    found = dict(table)
    for name, default in DEFAULTS.items():
        section, _, key = name.rpartition(".")
        inner = found.get(section) if section else found
        if isinstance(inner, dict) and key in inner and inner[key] == default:
            rest = {name: value for name, value in inner.items() if name != key}
            found = found | {section: rest} if section else rest
    return found
