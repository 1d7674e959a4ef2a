"""A run or a recipe."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=2,
    help="Show a run with its scores, or a recipe with all its settings.",
    examples=(
        ("finetune show reviews.csv", "the latest run on that file"),
        ("finetune show RUN --predictions 20", "and its first predictions"),
        ("finetune show glue-mrpc", "a recipe"),
    ),
    takes_settings=True,
)
