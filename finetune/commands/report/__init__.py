"""The HTML page about runs."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=8,
    help="Write an HTML report of runs: scores, curves, errors.",
    examples=(("finetune report RUN -o report.html", "one file, no network"),),
    also=("plot",),
)
