"""The rows that are worth labelling next."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=5,
    help="Choose the rows to label next.",
    examples=(
        ("finetune label-next reviews.csv new.csv --rows 200 -o next.csv", "for a spreadsheet"),
        ("finetune label-next RUN new.csv --rows 200 -o next.jsonl", "JSON Lines"),
    ),
    also=("active", "active-learning", "next", "sample"),
)
