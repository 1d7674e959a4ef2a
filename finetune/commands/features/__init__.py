"""Embeddings."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=4,
    help="Extract embeddings.",
    examples=(("finetune features minilm reviews.csv -o a.npz", "a vector a text"),),
    also=("embed", "encode", "embeddings"),
    takes_settings=True,
)
