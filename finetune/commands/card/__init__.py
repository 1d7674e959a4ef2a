"""The card of a model, README.md in its folder."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=8,
    help="Write the card of a run's model, its README.md.",
    examples=(
        ("finetune card RUN", "with other seeds of it"),
        ("finetune card RUN --export small", "with the check of an export"),
    ),
    also=("model-card", "readme"),
)
