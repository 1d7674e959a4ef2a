"""Copies recipes."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=4,
    help="Copy a recipe to edit.",
    examples=(("finetune cp glue-mrpc mine.toml", "then: finetune run mine.toml"),),
    also=("copy",),
)
