"""Scores of a checkpoint without training."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=2,
    help="Score a fine-tuned checkpoint without training.",
    examples=(
        ("finetune evaluate reviews.csv held-out.csv", "a file with labels"),
        ("finetune evaluate RUN mrpc", "the dev rows of a task"),
        ("finetune evaluate predictions.json squad-v1", "a file of predictions, as the official script does"),
    ),
    also=("eval", "test"),
)
