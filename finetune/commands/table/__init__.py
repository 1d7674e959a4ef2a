"""Tables of results."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=6,
    help="Compare scores of finished runs with published ones.",
    examples=(
        ("finetune table glue", "as the paper's Table 1"),
        ("finetune table glue --form runs -o glue.html", "with spread and verdicts"),
        ("finetune table glue --cost", "with device time and memory"),
    ),
)
