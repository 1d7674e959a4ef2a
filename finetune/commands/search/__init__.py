"""Searches settings: Optuna proposes, `train_run` trains, and the runs on disk are what is known.

`study.py` is the loop; read it first. A search repeated from its beginning asks for the same settings in the same
order, and finds the runs that are there instead of training them: so nothing else has to be saved to resume it.
"""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=2,
    help="Search settings, and score the best honestly.",
    examples=(
        ("finetune search glue-rte --trials 20", "around the paper's settings"),
        ("finetune search reviews.csv space.toml --test-share 0.2", "your own space"),
        ("finetune search glue-rte preset=paper-grid --prune halving", "a grid, half of it"),
    ),
    also=("tune", "sweep", "optimize"),
)
