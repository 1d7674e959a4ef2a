"""Predictions of files."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=1,
    help="Predict every row of a file.",
    examples=(
        ("finetune predict reviews.csv new.csv -o out.csv", "by its model"),
        ("finetune predict RUN - < lines.txt", "a text a line"),
    ),
    also=("infer", "inference", "classify", "generate"),
)
