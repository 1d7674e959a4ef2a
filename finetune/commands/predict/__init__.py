"""Predictions of files."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=1,
    help="Predict every row of a file, or of a folder of Parquet.",
    examples=(
        ("finetune predict reviews.csv new.csv -o out.csv", "by its model"),
        ("finetune predict RUN - < lines.txt", "a text a line"),
        ("finetune predict RUN rows -o predicted", "a folder of Parquet"),
    ),
    also=("infer", "inference", "classify", "generate"),
)
