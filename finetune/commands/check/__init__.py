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
        ("finetune check reviews.csv new.csv", "whether a new file looks like what a run was trained on"),
    ),
    takes_settings=True,
)
