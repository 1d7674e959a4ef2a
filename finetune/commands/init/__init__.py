"""A recipe to start from."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=3,
    help="Print a recipe for your data.",
    examples=(("finetune init reviews.csv > my.toml", "then: finetune run my.toml"),),
    takes_settings=True,
)
