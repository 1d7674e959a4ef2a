"""A recipe to start from."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=3,
    help="Print a recipe to edit, for your data or a shipped one.",
    examples=(
        ("finetune init reviews.csv > my.toml", "then: finetune run my.toml"),
        ("finetune init glue-mrpc > mine.toml", "a shipped recipe"),
    ),
    takes_settings=True,
)
