"""The average of several runs' weights."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=7,
    help="Average the weights of runs that began with the same encoder.",
    examples=(
        ("finetune soup RUN RUN RUN", "a model of their mean weights, next to their mean and their ensemble"),
        ("finetune soup RUN RUN test=test.csv", "scored on rows that chose nothing"),
    ),
)
