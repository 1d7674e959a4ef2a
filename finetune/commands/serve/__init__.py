"""A trained model over HTTP."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=6,
    help="Answer over HTTP, with a page to try the model.",
    examples=(
        ("finetune serve reviews.csv", "its latest run, at http://127.0.0.1:8000"),
        ("finetune serve RUN --host 0.0.0.0 --token-env TOKEN", "for other machines, with a token"),
    ),
    also=("server", "api", "http", "rest"),
)
