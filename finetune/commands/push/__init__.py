"""A run's model on the Hugging Face Hub."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=9,
    help="Put a run's model and its card on the Hugging Face Hub.",
    examples=(("finetune push RUN me/reviews --private", "shows what goes out, then asks"),),
    also=("upload", "publish", "hub"),
)
