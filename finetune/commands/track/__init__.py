"""Sends finished runs to trackers."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=7,
    help="Send finished runs to trackers, such as MLflow.",
    examples=(("finetune track RUN --to tensorboard,mlflow", "settings, losses, scores, record"),),
)
