"""The average of several runs' weights."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=7,
    help="Average the weights of runs that began with the same encoder.",
    examples=(
        ("finetune soup reviews.csv", "the latest runs that differ in seeds alone, with their mean and ensemble"),
        ("finetune soup reviews.csv test=test.csv", "the same, on rows that chose nothing"),
        ("finetune soup RUN RUN", "runs that also differ in how they were trained"),
    ),
)
