"""The library names arguments as in Python (`force`); the command line prints the options that they are (`--force`)."""

import re

OPTIONS = {
    "address": "--address",
    "bits": "--bits",
    "cased": "--cased",
    "collect": "--collect",
    "cost": "--cost",
    "cpus_each": "--cpus-each",
    "data_folder": "--data",
    "data_sizes": "--data-sizes",
    "device": "--device",
    "engine": "--engine",
    "fill_missing": "--fill-missing",
    "fix": "--fix",
    "folds": "--folds",
    "force": "--force",
    "form": "--form",
    "gpus_each": "--gpus-each",
    "int8": "--int8",
    "keep_fp32": "--keep-fp32",
    "kind": "--kind",
    "label": "--label",
    "live": "--live",
    "machines": "--machines",
    "label_sets": "--label-sets",
    "null_odds": "--null-odds",
    "on": "--on",
    "out": "--out",
    "precision": "--precision",
    "predictions": "--predictions",
    "private": "--private",
    "processes": "--processes",
    "prune": "--prune",
    "risk": "--risk",
    "robust": "--robust",
    "row": "--row",
    "rows": "--rows",
    "seeds": "--seeds",
    "sbatch": "--sbatch",
    "sentences": "--sentences",
    "size": "--size",
    "split": "--split",
    "task": "--task",
    "test_share": "--test-share",
    "tolerance": "--tolerance",
    "trials": "--trials",
    "word": "--word",
    "workers": "--workers",
    "yes": "--yes",
}
NAMED = re.compile(f"`({'|'.join(OPTIONS)})`")


def with_options(text: str) -> str:
    """A message of the library with its arguments as options: "run it with `--force`"."""
    return NAMED.sub(lambda found: f"`{OPTIONS[found[1]]}`", text)


def note_line(text: str) -> str:
    """A note of the library as it is printed."""
    return f"note: {with_options(text)}"
