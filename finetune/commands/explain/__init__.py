"""What each word adds to a prediction."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=3,
    help="Show what each word adds to a prediction.",
    examples=(
        ('finetune explain RUN "a warm and witty film"', "signed bars, word by word"),
        ("finetune explain RUN --row 7 -o page.html", "a row of dev, as a page"),
    ),
)
