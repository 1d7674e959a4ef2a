"""Checks data and recipes before training."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Data",
    place=1,
    help="Check data or a recipe before training.",
    examples=(
        ("finetune check reviews.csv", "format, columns and problems"),
        ("finetune check reviews.csv --fix fixed.csv", "writes a fixed copy"),
        ("finetune check glue-mrpc", "what a run would use"),
    ),
    takes_settings=True,
)
