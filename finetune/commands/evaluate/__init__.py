"""Scores of a checkpoint without training."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=2,
    help="Score a fine-tuned checkpoint without training.",
    examples=(
        ("finetune evaluate reviews.csv held-out.csv", "a file with labels"),
        ("finetune evaluate RUN mrpc", "the dev rows of a task"),
    ),
    also=("eval", "test"),
)
