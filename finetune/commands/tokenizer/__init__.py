"""Trains vocabularies."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Data",
    place=2,
    help="Train a vocabulary on text.",
    examples=(("finetune tokenizer corpus.txt -o vocabulary --size 4000", "WordPiece"),),
)
