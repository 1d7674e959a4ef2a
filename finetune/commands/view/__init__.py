"""The page that shows the inside of an encoder."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=4,
    help="Write a page that shows the inside of an encoder.",
    examples=(
        ('finetune view minilm "a text" "another"', "tokens, hidden words, attention"),
        ("finetune view minilm --word bank", "one word in many sentences"),
    ),
)
