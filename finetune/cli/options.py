"""The library names arguments as in Python (`force`); the command line prints the options that they are (`--force`)."""

import re

OPTIONS = {
    "data_folder": "--data",
    "data_sizes": "--data-sizes",
    "discard_half": "--discard-half",
    "fill_missing": "--fill-missing",
    "fix": "--fix",
    "force": "--force",
    "form": "--form",
    "label": "--label",
    "null_odds": "--null-odds",
    "out": "--out",
    "predictions": "--predictions",
    "row": "--row",
    "rows": "--rows",
    "seeds": "--seeds",
    "sentences": "--sentences",
    "split": "--split",
    "task": "--task",
    "word": "--word",
}
NAMED = re.compile(f"`({'|'.join(OPTIONS)})`")


def with_options(text: str) -> str:
    """A message of the library with its arguments as options: "run it with `--force`"."""
    return NAMED.sub(lambda found: f"`{OPTIONS[found[1]]}`", text)


def note_line(text: str) -> str:
    """A note of the library as it is printed."""
    return f"note: {with_options(text)}"
