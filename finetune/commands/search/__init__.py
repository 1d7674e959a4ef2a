"""Searches settings: Optuna proposes them, runs are trained, and its journal keeps what came of them (`study.py`)."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=2,
    help="Search settings, and score the best honestly.",
    examples=(
        ("finetune search glue-rte --trials 20", "around the paper's settings"),
        ("finetune search reviews.csv space.toml --test-share 0.2", "your own space"),
        ("finetune search glue-rte preset=paper-grid", "a grid"),
    ),
    also=("tune", "sweep", "optimize"),
)
