"""Scores of predictions that others made."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=3,
    help="Score a file of predictions, without a model.",
    examples=(("finetune score squad-v1 predictions.json", "as the official script does"),),
)
