"""A run's model on the Hugging Face Hub."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=9,
    help="Put a run's model, its card and exports on the Hugging Face Hub.",
    examples=(
        ("finetune push RUN me/reviews --private", "shows what goes out, then asks"),
        ("finetune push RUN me/reviews --export small", "with an export"),
    ),
    also=("upload", "publish", "hub"),
)
