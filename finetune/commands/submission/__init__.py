"""The zip for the GLUE server."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Use",
    place=5,
    help="Predict the GLUE test sets for the GLUE server.",
    examples=(("finetune submission mrpc rte -o glue.zip --fill-missing", "and constants"),),
)
